/* Calls every function of probes/posix.toml and probes/stdio.toml by each of its names, also such that it fails, and prints its result and errno.
 * test_calls.py compares them with and without the recorder, and knows if a name is missing here.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "calls.h"

/* Names that only the compiler or old programs use. */
int __open_2(const char*, int), __open64_2(const char*, int), __openat_2(int, const char*, int),
    __openat64_2(int, const char*, int);
ssize_t __read_chk(int, void*, size_t, size_t);
int __fprintf_chk(FILE*, int, const char*, ...), __printf_chk(int, const char*, ...);
int __vfprintf_chk(FILE*, int, const char*, va_list), __vprintf_chk(int, const char*, va_list);
int _IO_putc(int, FILE*);

static char bytes[100] = "0123456789012345678901234567890123456789\nabc\ndef\n";
static struct iovec pieces[] = {{bytes, 3}, {bytes + 10, 4}};
enum { kNone = 1000 }; /* no descriptor */

static void open_by_each_name(void) {
  CALL(open, "file", O_RDWR | O_CREAT | O_TRUNC, 0640);
  CALL(open, "file", O_RDONLY);
  CALL(open, ".", O_RDWR | O_TMPFILE, 0600);
  CALL(open, "missing", O_RDONLY);
  CALL(open, NULL, O_RDONLY);
  CALL(open64, "file", O_RDWR | O_CREAT | O_EXCL, 0600);
  CALL(open64, "file64", O_RDWR | O_CREAT, 0604);
  CALL(__open_2, "file", O_WRONLY);
  CALL(__open_2, "missing", O_WRONLY);
  CALL(__open64_2, "file", O_WRONLY | O_APPEND);
  CALL(openat, AT_FDCWD, "at", O_RDWR | O_CREAT, 0700);
  CALL(openat, kNone, "at", O_RDWR);
  CALL(openat64, AT_FDCWD, "file", O_RDONLY | O_DIRECTORY);
  CALL(openat64, AT_FDCWD, "file", O_RDONLY);
  CALL(__openat_2, AT_FDCWD, "file", O_RDONLY);
  CALL(__openat64_2, kNone, "file", O_RDONLY);
  CALL(creat, "created", 0600);
  CALL(creat, "no/where", 0600);
  CALL(creat64, "created", 0600);
  char names[][8] = {"aXXXXXX", "bXXXXXX", "cXXXXXX", "dXXXXXX", "short"};
  CALL(mkstemp, names[0]);
  CALL(mkstemp64, names[1]);
  CALL(mkostemp, names[2], O_CLOEXEC);
  CALL(mkostemp64, names[3], O_APPEND);
  CALL(mkstemp, names[4]);
  for (int i = 0; i < 4; ++i) unlink(names[i]);
}

static void read_and_write(int file, int other) {
  CALL(write, file, bytes, 50);
  CALL(write, file, NULL, 50);
  CALL(write, file, bytes, 0);
  CALL(write, kNone, bytes, 1);
  CALL(pwrite, file, bytes, 7, 100);
  CALL(pwrite, file, bytes, 7, -1);
  CALL(pwrite64, file, bytes, 7, 200);
  CALL(writev, file, pieces, 2);
  CALL(writev, file, pieces, -1);
  CALL(writev, file, NULL, 1);
  CALL(writev, file, (struct iovec*)16, 2);
  CALL(writev, file, pieces, 1000000);
  CALL(pwritev, file, pieces, 2, 300);
  CALL(pwritev64, file, pieces, 2, 400);
  CALL(pwritev64, kNone, pieces, 2, 400);
  CALL(lseek, file, 10, SEEK_SET);
  CALL(lseek, file, -1, SEEK_SET);
  CALL(lseek, file, 0, 77);
  CALL(lseek64, file, -3, SEEK_CUR);
  CALL(read, file, bytes + 50, 5);
  CALL(read, kNone, bytes + 50, 5);
  CALL(__read_chk, file, bytes + 50, 6, 50);
  CALL(pread, file, bytes + 50, 7, 1 << 20);
  CALL(pread64, file, bytes + 50, 7, 3);
  struct iovec to[] = {{bytes + 60, 2}, {bytes + 70, 3}};
  CALL(readv, file, to, 2);
  CALL(preadv, file, to, 2, 5);
  CALL(preadv64, file, to, 2, -5);
  off_t at = 2;
  CALL(sendfile, other, file, &at, 20);
  CALL(sendfile64, other, file, NULL, 30);
  CALL(sendfile, kNone, file, NULL, 30);
  off64_t from = 0, into = 500;
  CALL(copy_file_range, file, &from, other, &into, 40, 0);
  CALL(copy_file_range, file, NULL, other, NULL, 4, 99);
}

static void posix(void) {
  open_by_each_name();
  const int file = open("file", O_RDWR), other = open("other", O_RDWR | O_CREAT, 0600);
  read_and_write(file, other);
  CALL(fsync, file);
  CALL(fsync, kNone);
  CALL(fdatasync, file);
  CALL(ftruncate, file, 600);
  CALL(ftruncate64, file, -1);
  CALL(posix_fallocate, file, 600, 100);
  CALL(posix_fallocate64, kNone, 0, 100);
  CALL(dup, file);
  CALL(dup, kNone);
  CALL(dup2, file, 60);
  CALL(dup2, file, file);
  CALL(dup2, kNone, 61);
  CALL(dup3, file, 60, O_CLOEXEC);
  CALL(dup3, file, file, 0);
  CALL(write, 60, bytes, 2);
  CALL(rename, "at", "renamed");
  CALL(rename, "missing", "renamed");
  CALL(renameat, AT_FDCWD, "renamed", AT_FDCWD, "again");
  CALL(renameat, kNone, "again", AT_FDCWD, "never");
  CALL(renameat2, AT_FDCWD, "again", AT_FDCWD, "other", RENAME_NOREPLACE);
  CALL(renameat2, AT_FDCWD, "again", AT_FDCWD, "other", RENAME_EXCHANGE);
  CALL(unlink, "other");
  CALL(unlink, "missing");
  CALL(unlinkat, AT_FDCWD, "created", 0);
  CALL(unlinkat, kNone, "created", 0);
  CALL(remove, "again");
  CALL(remove, "file64");
  CALL(fcntl, file, F_DUPFD, 70);
  CALL(fcntl, file, F_DUPFD_CLOEXEC, 80);
  CALL(fcntl, file, F_GETFD);
  CALL(fcntl, kNone, F_DUPFD, 70);
  CALL(fcntl64, 70, F_SETFD, FD_CLOEXEC);
  CALL(write, 70, bytes, 3);
  CALL(close, 60);
  CALL(close, 60);
  CALL(close, -1);
}

static int list(int (*function)(FILE*, const char*, va_list), FILE* stream, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = function(stream, format, arguments);
  va_end(arguments);
  return result;
}
static int to_vprintf(FILE* stream, const char* format, va_list arguments) { return (void)stream, vprintf(format, arguments); }
static int to_chk(FILE* stream, const char* format, va_list arguments) { return __vfprintf_chk(stream, 1, format, arguments); }
static int to_print_chk(FILE* stream, const char* format, va_list arguments) {
  return (void)stream, __vprintf_chk(1, format, arguments);
}
#define LIST(name, function, stream)                                                    \
  do {                                                                                  \
    errno = 5555;                                                                       \
    const int result = list(function, stream, "%d %s %.3f %c\n", 42, "word", 2.5, 'x'); \
    print(#name, result, errno);                                                        \
  } while (0)

static FILE* open_streams(void) {
  FILE *one, *stream;
  CALL_FOR(one, NULL, fopen, "missing", "r");
  CALL_FOR(one, NULL, fopen, "stream", "unknown");
  CALL_FOR(one, NULL, fopen64, "stream64", "w");
  CALL_FOR(one, NULL, freopen, "again", "w", one);
  CALL_FOR(one, NULL, freopen64, "again64", "w+", one);
  CALL(fclose, one);
  CALL_FOR(one, NULL, fdopen, kNone, "w");
  CALL_FOR(one, NULL, fdopen, open("by_number", O_WRONLY | O_CREAT, 0600), "w");
  CALL(fputs, "by its number\n", one);
  CALL(fclose, one);
  CALL_FOR(one, NULL, tmpfile, );
  CALL(fclose, one);
  CALL_FOR(one, NULL, tmpfile64, );
  CALL(fclose, one);
  CALL_FOR(stream, NULL, fopen, "stream", "w+");
  return stream;
}

static void write_streams(FILE* stream, FILE* unwritable) {
  CALL(fwrite, bytes, 3, 5, stream);
  CALL(fwrite, bytes, 0, 5, stream);
  CALL(fwrite, bytes, 1, 5, unwritable);
  CALL(fwrite_unlocked, bytes, 1, 5, stream);
  CALL(fputs, "a text\n", stream);
  CALL(fputs, "a text\n", unwritable);
  CALL(fputs_unlocked, "more", stream);
  CALL(fputc, 'c', stream);
  CALL(fputc, 'c', unwritable);
  CALL(putc, 300, stream);
  CALL(_IO_putc, 'd', stream);
  CALL(fprintf, stream, "%s %d %Lf\n", "words", 7, 1.5L);
  CALL(fprintf, unwritable, "%s\n", "words");
  CALL(__fprintf_chk, stream, 1, "%5.2f|%-5s|\n", 3.14159, "ab");
  CALL(puts, "a line");
  CALL(putchar, 'e');
  CALL(printf, "%x %s %s\n", 255, "y", "printed");
  CALL(__printf_chk, 1, "%d%%\n", 50);
  LIST(vfprintf, vfprintf, stream);
  LIST(vfprintf, vfprintf, unwritable);
  LIST(vprintf, to_vprintf, NULL);
  LIST(__vfprintf_chk, to_chk, stream);
  LIST(__vprintf_chk, to_print_chk, NULL);
}

static void stdio(void) {
  const void* got;
  FILE* const stream = open_streams();
  CALL_FOR(got, NULL, freopen, "printed", "w", stdout);
  FILE* const unwritable = fopen("stream", "r");
  write_streams(stream, unwritable);
  CALL(fflush, stream);
  CALL(fflush, NULL);
  CALL(fflush_unlocked, stream);
  CALL(fseek, stream, 4, SEEK_SET);
  CALL(fseek, stream, -4, SEEK_SET);
  CALL(fseeko, stream, 1, SEEK_CUR);
  CALL(fseeko64, stream, 0, 99);
  char line[20], *text = NULL;
  size_t room = 0;
  CALL(fread, line, 2, 3, stream);
  CALL(fread_unlocked, line, 1, 3, stream);
  CALL_FOR(got, NULL, fgets, line, sizeof line, stream);
  CALL_FOR(got, NULL, fgets_unlocked, line, 5, stream);
  CALL(getline, &text, &room, stream);
  fpos_t place;
  fgetpos(stream, &place);
  CALL(fsetpos, stream, &place);
  fpos64_t place64;
  fgetpos64(stream, &place64);
  CALL(fsetpos64, stream, &place64);
  errno = 5555;
  rewind(stream);
  print("rewind", ftell(stream), errno);
  CALL(fseek, stream, 0, SEEK_END);
  CALL(getline, &text, &room, stream);
  CALL(getline, NULL, NULL, stream);
  CALL_FOR(got, NULL, fgets, line, sizeof line, stream);
  CALL(fread, line, 1, 1, stream);
  CALL(fseek, stdin, 0, SEEK_SET);
  FILE* command;
  CALL_FOR(command, NULL, popen, "exit 3", "r");
  CALL(pclose, command);
  CALL_FOR(command, NULL, popen, "true", "unknown");
  FILE* const full = fopen("/dev/full", "w");
  CALL(fputs, "no room", full);
  CALL(fflush, full);
  CALL(fclose, full);
  CALL(fclose, unwritable);
  CALL(fclose, stream);
  free(text);
}

int main(void) {
  if (!open_results("results")) return 1;
  posix();
  stdio();
  return 0;
}
