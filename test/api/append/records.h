/* What the test programs append: records that say whose they are, which one, and whether they are whole.
 * Used by: client.c, which makes them, and the tests, which read streams.
 * Before it: a stream and a number. After it: bytes.
 */
#ifndef DAMARIS_TEST_RECORDS_H
#define DAMARIS_TEST_RECORDS_H

#include <stdint.h>
#include <string.h>

struct record {
  uint32_t magic, stream, number, bytes, sum; /* `bytes` of the whole, header included */
};
enum { kRecordMagic = 0x7ec0de, kSmallestRecord = sizeof(struct record) };

static inline uint32_t sum_of(const unsigned char* from, uint32_t bytes) {
  uint32_t sum = 2166136261u;
  for (uint32_t i = 0; i < bytes; i++) sum = (sum ^ from[i]) * 16777619u;
  return sum;
}

static inline void fill_record(unsigned char* to, uint32_t stream, uint32_t number, uint32_t bytes) {
  struct record head = {kRecordMagic, stream, number, bytes, 0};
  for (uint32_t i = sizeof head; i < bytes; i++) to[i] = (unsigned char)(i * 31 + number * 7 + stream);
  head.sum = sum_of(to + sizeof head, bytes - (uint32_t)sizeof head) ^ number ^ stream;
  memcpy(to, &head, sizeof head);
}

/* Returns the size of the whole record `number` of `stream` at `from`, 0 if it is none. */
static inline uint32_t check_record(const unsigned char* from, uint64_t room, uint32_t stream, uint32_t number) {
  struct record head;
  if (room < sizeof head) return 0;
  memcpy(&head, from, sizeof head);
  if (head.magic != kRecordMagic || head.stream != stream || head.number != number || head.bytes < sizeof head || head.bytes > room)
    return 0;
  const uint32_t sum = sum_of(from + sizeof head, head.bytes - (uint32_t)sizeof head) ^ number ^ stream;
  return sum == head.sum ? head.bytes : 0;
}

#endif
