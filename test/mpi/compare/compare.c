/* Writes random data twice: through Damaris, and with a raw file per process beside it, as programs did before.
 * Runs on the ranks of one MPI job: compare XML FOLDER. Client k writes FOLDER/raw.k, and FOLDER/index.k with a line per dataset:
 *     variable step block type extents position offset
 * where extents and position (or "-") are comma lists in C order, without ghost zones, and offset is in bytes into raw.k.
 * Before it: compare_test fills in the XML. After it: compare.py looks at every byte.
 */
#include <damaris/damaris_mpi.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kSteps = 3, kMost = 4096 };

typedef struct {
  int64_t id;
  float place[3];
  char kind;
} particle;

typedef struct {
  int64_t ny, nx, y0, x0, NY, NX;
} tile;

static int me;
static int64_t step;
static FILE *raw, *list;
static uint64_t seed;

static void check(const char* call, int code) {
  if (code >= 0) return;
  fprintf(stderr, "client %d step %" PRId64 ": %s: %s\n", me, step, call, dc_last_error());
  exit(1);
}

static uint8_t random_byte(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint8_t)(seed >> 56);
}
/* With COMPARE_MODEST=1 reals are numbers that 16 bits can hold, of other magnitudes for each client; else any bytes. */
static int is_modest(void) { return getenv("COMPARE_MODEST") != NULL; }
static double modest_number(void) { return (me + 1) * ((random_byte() * 256 + random_byte()) / 4096.0 - 8); }
static void fill(void* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) ((uint8_t*)data)[i] = random_byte();
}

static void fill_doubles(double* data, size_t count) {
  fill(data, count * sizeof *data);
  for (size_t i = 0; is_modest() && i < count; ++i) data[i] = modest_number();
}
static void fill_floats(float* data, size_t count) {
  fill(data, count * sizeof *data);
  for (size_t i = 0; is_modest() && i < count; ++i) data[i] = (float)modest_number();
}

static void put_list(const int64_t* values, int count) {
  for (int i = 0; i < count; ++i) fprintf(list, "%s%" PRId64, i > 0 ? "," : "", values[i]);
  fputc(' ', list);
}

/* Opens a dataset in the raw file; its bytes follow. */
static void begin_raw(const char* variable, int block, const char* type, int ndims, const int64_t* extents,
                      const int64_t* position) {
  fprintf(list, "%s %" PRId64 " %d %s ", variable, step, block, type);
  put_list(extents, ndims);
  if (position == NULL)
    fprintf(list, "- ");
  else
    put_list(position, ndims);
  fprintf(list, "%ld\n", ftell(raw));
}
static void put_raw(const void* data, size_t bytes) {
  if (fwrite(data, 1, bytes, raw) != bytes) exit(1);
}

/* Tile k of a grid two tiles wide (one for an odd number), with rows and columns of unequal size. */
static tile tile_of(int client, int clients) {
  const int columns = clients % 2 == 0 ? 2 : 1;
  tile t = {0, 0, 0, 0, 0, 0};
  for (int row = 0; row < clients / columns; ++row) {
    if (row == client / columns) t.y0 = t.NY, t.ny = 3 + 2 * row;
    t.NY += 3 + 2 * row;
  }
  for (int column = 0; column < columns; ++column) {
    if (column == client % columns) t.x0 = t.NX, t.nx = 5 + 3 * column;
    t.NX += 5 + 3 * column;
  }
  return t;
}

static void place(const tile* t) {
  const int64_t three[3] = {t->y0, t->x0, 0}, yx[2] = {t->y0, t->x0}, xy[2] = {t->x0, t->y0};
  check("parameter", dc_set_parameter("ny", t->ny) | dc_set_parameter("nx", t->nx));
  check("parameter", dc_set_parameter("NY", t->NY) | dc_set_parameter("NX", t->NX));
  check("position", dc_set_position("tile", 3, three) | dc_set_position("tile_with_ghosts", 2, xy));
  check("position", dc_set_position("faces", 2, yx) | dc_set_position("interior", 2, yx));
}

static void write_tile(const tile* t) {
  static double data[kMost];
  const int64_t extents[3] = {t->ny, t->nx, 3}, position[3] = {t->y0, t->x0, 0};
  const size_t bytes = (size_t)(t->ny * t->nx * 3) * sizeof(double);
  fill_doubles(data, (size_t)(t->ny * t->nx * 3));
  check("tile", dc_write("fields/tile", step, data));
  begin_raw("fields/tile", 0, "f8", 3, extents, position);
  put_raw(data, bytes);
}

/* One ghost line below and above, two elements left and one right; x is the fastest dimension, as in Fortran. */
static void write_ghosts(const tile* t) {
  static float data[kMost];
  const int64_t extents[2] = {t->ny, t->nx}, position[2] = {t->y0, t->x0};
  fill_floats(data, (size_t)((t->ny + 2) * (t->nx + 3)));
  check("ghosts", dc_write("fields/ghosts", step, data));
  begin_raw("fields/ghosts", 0, "f4", 2, extents, position);
  for (int64_t y = 0; y < t->ny; ++y) put_raw(data + (y + 1) * (t->nx + 3) + 2, (size_t)t->nx * sizeof(float));
}

/* Neighbours share a column of faces, and have the same values there. */
static void write_faces(const tile* t) {
  static int32_t data[kMost];
  const int64_t extents[2] = {t->ny, t->nx + 1}, position[2] = {t->y0, t->x0};
  for (int64_t y = 0; y < t->ny; ++y)
    for (int64_t x = 0; x <= t->nx; ++x)
      data[y * (t->nx + 1) + x] = (int32_t)(((t->y0 + y) * 977 + t->x0 + x) * 2654435761u + (uint32_t)step);
  check("faces", dc_write("fields/faces", step, data));
  begin_raw("fields/faces", 0, "i4", 2, extents, position);
  put_raw(data, (size_t)(t->ny * (t->nx + 1)) * sizeof(int32_t));
}

/* The interior of an array with a halo, by strides. */
static void write_halo(const tile* t) {
  static int16_t data[kMost];
  const int64_t extents[2] = {t->ny, t->nx}, position[2] = {t->y0, t->x0};
  const ptrdiff_t row = (ptrdiff_t)(t->nx + 6), strides[2] = {row * (ptrdiff_t)sizeof(int16_t), sizeof(int16_t)};
  fill(data, (size_t)((t->ny + 4) * (t->nx + 6)) * sizeof(int16_t));
  const int16_t* interior = data + 2 * row + 3;
  check("halo", dc_write_typed("fields/halo", step, 0, DC_INT16, interior, 2, extents, strides));
  begin_raw("fields/halo", 0, "i2", 2, extents, position);
  for (int64_t y = 0; y < t->ny; ++y) put_raw(interior + y * row, (size_t)t->nx * sizeof(int16_t));
}

/* Two blocks of one variable without a position; the second is made in place. */
static void write_columns(void) {
  const int64_t extents[1] = {17};
  uint8_t data[17];
  void* space = NULL;
  fill(data, sizeof data);
  check("column", dc_write("column", step, data));
  begin_raw("column", 0, "u1", 1, extents, NULL);
  put_raw(data, sizeof data);
  check("alloc", dc_alloc("column", step, 1, &space));
  fill(space, sizeof data);
  begin_raw("column", 1, "u1", 1, extents, NULL);
  put_raw(space, sizeof data);
  check("commit", dc_commit("column", step, 1));
}

/* A layout without dimensions: one element. */
static void write_energy(void) {
  const int64_t one[1] = {1};
  double data;
  fill_doubles(&data, 1);
  check("energy", dc_write("energy", step, &data));
  begin_raw("energy", 0, "f8", 1, one, NULL);
  put_raw(&data, sizeof data);
}

/* A number of records that changes with step and client, and is sometimes none. */
static void write_particles(void) {
  static particle data[16];
  const int64_t count = (7 * step + 5 * me) % 9;
  fill(data, sizeof data);
  check("shape", dc_set_shape("particles", 1, &count));
  check("particles", dc_write("particles", step, data));
  begin_raw("particles", 0, "particle", 1, &count, NULL);
  put_raw(data, (size_t)count * sizeof(particle));
}

/* With COMPARE_SKIP=N: clients below N write nothing in step 1, the others nothing in the last one. */
static int skips(void) {
  const char* first = getenv("COMPARE_SKIP");
  if (first == NULL) return 0;
  return me < atoi(first) ? step == 1 : step == kSteps - 1;
}

/* With COMPARE_LEAVE=N: clients below N take no part in the last step, they have said that they are done. */
static int steps_of_mine(void) {
  const char* first = getenv("COMPARE_LEAVE");
  return first != NULL && me < atoi(first) ? kSteps - 1 : kSteps;
}

static FILE* open_file(const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%d", folder, name, me);
  FILE* file = fopen(path, "wb");
  if (file == NULL) perror(path), exit(1);
  return file;
}

static void simulate(MPI_Comm clients, const char* folder) {
  int size;
  MPI_Comm_rank(clients, &me);
  MPI_Comm_size(clients, &size);
  seed = 88172645463325252u + 1000003u * (uint64_t)me;
  raw = open_file(folder, "raw");
  list = open_file(folder, "index");
  const tile mine = tile_of(me, size);
  const int steps = steps_of_mine();
  for (step = 0; step < steps; ++step) {
    place(&mine);
    if (!skips()) {
      write_tile(&mine);
      write_ghosts(&mine);
      write_faces(&mine);
      write_halo(&mine);
      write_columns();
      write_energy();
      write_particles();
    }
    check("end", dc_end_iteration(step));
  }
  check("finalize", dc_finalize());
  if (fclose(raw) != 0 || fclose(list) != 0) exit(1);
}

/* Clients wait for the servers without spinning, which MPICH would do in MPI_Finalize: the cores are few. */
static void wait_for_all(void) {
  MPI_Request request;
  const struct timespec moment = {0, 500000};
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) nanosleep(&moment, NULL);
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client;
  MPI_Init(&argc, &argv);
  if (argc != 3) return 2;
  check("start", dc_mpi_initialize(argv[1], MPI_COMM_WORLD, &clients, &is_client));
  if (is_client) simulate(clients, argv[2]);
  wait_for_all();
  MPI_Finalize();
  return 0;
}
