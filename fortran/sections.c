/* From a Fortran array descriptor to the C interface: address, extents and strides, without a copy.
 * Used by: damaris_arrays.F90 in simulation processes, on the calling thread.
 * Before it: the compiler's descriptor of an array or section. After it: dc_write_typed, dc_read_typed, dc_alloc_typed.
 */
#include <ISO_Fortran_binding.h>
#include <stdio.h>
#include <string.h>

#include <damaris/damaris.h>

enum { kMaxDims = CFI_MAX_RANK + 1, kSentenceBytes = 512 };

struct section {
  int ndims;
  int64_t extents[kMaxDims];
  ptrdiff_t strides_bytes[kMaxDims];
};

static void add_dimension(struct section* section, int64_t extent, ptrdiff_t stride_bytes) {
  section->extents[section->ndims] = extent;
  section->strides_bytes[section->ndims] = stride_bytes;
  section->ndims++;
}

/* Describes `array` in elements and bytes. Contiguous arrays get strides, too, so that a layout in C order gets each element at its own
 * index. */
static struct section describe(const CFI_cdesc_t* array, dc_type type) {
  struct section section = {0};
  if (type == DC_CHAR && array->elem_len != 1) add_dimension(&section, (int64_t)array->elem_len, 1);
  for (int i = 0; i < array->rank; i++) add_dimension(&section, array->dim[i].extent, array->dim[i].sm);
  if (section.ndims == 0) add_dimension(&section, 1, (ptrdiff_t)array->elem_len);
  return section;
}

int damaris_fortran_write(const char* name, int64_t step, int32_t block, int type, const CFI_cdesc_t* array) {
  const struct section section = describe(array, (dc_type)type);
  return dc_write_typed(name, step, block, (dc_type)type, array->base_addr, section.ndims, section.extents, section.strides_bytes);
}

int damaris_fortran_write_to(dc_variable_t* variable, int64_t step, int32_t block, int type, const CFI_cdesc_t* array) {
  const struct section section = describe(array, (dc_type)type);
  return dc_write_to_typed(variable, step, block, (dc_type)type, array->base_addr, section.ndims, section.extents,
                           section.strides_bytes);
}

/* Returns the declaration of a type in Fortran; a type that Fortran lacks has its name in the XML. */
static const char* fortran_name(dc_type type) {
  static const char* const names[] = {"any type",     "integer(int8)", "integer(int16)", "integer(int32)", "integer(int64)",
                                      "uint8",        "uint16",        "uint32",         "uint64",         "real(real32)",
                                      "real(real64)", "character",     "a compound type"};
  return type >= DC_ANY && type <= DC_COMPOUND ? names[type] : "an unknown type";
}

static int fits_rank(const dc_layout_t* layout, int rank) {
  if (rank == 0) return layout->ndims == 0 || (layout->ndims == 1 && layout->extents[0] == 1);
  return layout->ndims == rank;
}

/* Returns DC_OK if a pointer of this type and rank can point to a block of `layout`, else DC_E_TYPE or DC_E_SHAPE, with the reason in
 * `sentence`. */
static int check_pointer(const char* name, const dc_layout_t* layout, dc_type type, int rank, char* sentence) {
  if (layout->type != type) {
    snprintf(sentence, kSentenceBytes, "'%s' has elements of %s, the pointer is %s; declare the pointer as the layout says", name,
             fortran_name(layout->type), fortran_name(type));
    return DC_E_TYPE;
  }
  if (!fits_rank(layout, rank)) {
    snprintf(sentence, kSentenceBytes, "'%s' has %d dimension(s), the pointer %d; declare the pointer as the layout says", name,
             layout->ndims, rank);
    return DC_E_SHAPE;
  }
  if (rank > 1 && !layout->fortran_order) {
    snprintf(sentence, kSentenceBytes,
             "the layout of '%s' lists its dimensions in C order, which no Fortran pointer can follow; "
             "give the layout language=\"fortran\", or use df_write",
             name);
    return DC_E_SHAPE;
  }
  return DC_OK;
}

/* Copies the reason of an error that this file found to `sentence`, padded with blanks as a Fortran text; blanks when libdamaris has the
 * sentence. Returns `code`. */
static int explain(int code, const char* reason, char* sentence) {
  memset(sentence, ' ', kSentenceBytes);
  memcpy(sentence, reason, strlen(reason));
  return code;
}

int damaris_fortran_alloc(const char* name, int64_t step, int32_t block, int type, int rank, int64_t* extents, void** address,
                          char* sentence) {
  dc_layout_t layout;
  char reason[kSentenceBytes] = "";
  *address = NULL;
  memset(extents, 0, DC_MAX_DIMS * sizeof *extents);
  int code = dc_get_layout(name, &layout);
  if (code >= 0) code = check_pointer(name, &layout, (dc_type)type, rank, reason);
  if (code >= 0) code = dc_alloc_typed(name, step, block, (dc_type)type, &layout, address);
  if (code >= 0) memcpy(extents, layout.extents, (size_t)layout.ndims * sizeof *extents);
  return explain(code, reason, sentence);
}

int damaris_fortran_read(const char* name, int64_t step, int32_t block, int type, const CFI_cdesc_t* array) {
  const struct section section = describe(array, (dc_type)type);
  return dc_read_typed(name, step, block, (dc_type)type, array->base_addr, section.ndims, section.extents, section.strides_bytes);
}

/* Checks elements of a derived type: a descriptor holds no more than their size. Returns DC_E_TYPE for another size than the layout's. */
static int check_compound(const char* name, const CFI_cdesc_t* array, char* sentence) {
  dc_layout_t layout;
  char reason[kSentenceBytes] = "";
  int code = dc_get_layout(name, &layout);
  if (code >= 0 && layout.type == DC_COMPOUND && layout.element_bytes != array->elem_len) {
    snprintf(reason, kSentenceBytes,
             "'%s' has elements of %llu bytes, those of the array have %zu; declare the members as in the XML", name,
             (unsigned long long)layout.element_bytes, array->elem_len);
    code = DC_E_TYPE;
  }
  return explain(code, reason, sentence);
}

int damaris_fortran_write_compound(const char* name, int64_t step, int32_t block, const CFI_cdesc_t* array, char* sentence) {
  const int code = check_compound(name, array, sentence);
  return code < 0 ? code : damaris_fortran_write(name, step, block, DC_COMPOUND, array);
}

int damaris_fortran_read_compound(const char* name, int64_t step, int32_t block, const CFI_cdesc_t* array, char* sentence) {
  const int code = check_compound(name, array, sentence);
  return code < 0 ? code : damaris_fortran_read(name, step, block, DC_COMPOUND, array);
}

/* Copies the elements in their order, the first dimension first. */
static void gather(const CFI_cdesc_t* array, int dimension, const char* from, char** to) {
  if (dimension < 0) {
    memcpy(*to, from, array->elem_len);
    *to += array->elem_len;
    return;
  }
  for (CFI_index_t i = 0; i < array->dim[dimension].extent; i++)
    gather(array, dimension - 1, from + i * array->dim[dimension].sm, to);
}

/* A section goes into the region without a copy of its own. */
int damaris_fortran_append(const char* log, const CFI_cdesc_t* array, dc_position_t* where) {
  uint64_t bytes = array->elem_len;
  for (int i = 0; i < array->rank; i++) bytes *= (uint64_t)array->dim[i].extent;
  memset(where, 0, sizeof *where);
  if (bytes == 0 || CFI_is_contiguous(array)) return dc_append(log, array->base_addr, bytes, where);
  dc_log_t* handle = NULL;
  void* data = NULL;
  int code = dc_log(log, &handle);
  if (code >= 0) code = dc_append_alloc(handle, bytes, &data);
  if (code < 0) return code;
  char* to = data;
  gather(array, array->rank - 1, array->base_addr, &to);
  return dc_append_publish(handle, data, bytes, where);
}
