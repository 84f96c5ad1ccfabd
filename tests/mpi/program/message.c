#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xEE };

static unsigned char* memory(size_t size) {
  unsigned char* made = malloc(size + 8);
  if (made != NULL) return made;
  fprintf(stderr, "no memory for %zu bytes\n", size);
  exit(2);
}

/* Differs from message to message and from word to word (splitmix64; Steele, Lea, Flood 2014). */
static void fill(unsigned char* bytes, struct message message) {
  unsigned long long state = message.number * 0x9e3779b97f4a7c15ULL;
  for (size_t i = 0; i < message.size; i += 8) {
    unsigned long long word = state += 0x9e3779b97f4a7c15ULL;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
    word ^= word >> 27;
    memcpy(bytes + i, &word, message.size - i < 8 ? message.size - i : 8);
  }
}

void poison(struct buffer buffer) {
  unsigned char* bytes = memory(buffer.size);
  memset(bytes, POISON, buffer.size);
  write_bytes(buffer, 0, bytes, buffer.size);
  free(bytes);
}

void put_message(struct buffer buffer, struct message message) {
  unsigned char* bytes = memory(message.size);
  fill(bytes, message);
  write_bytes(buffer, message.offset, bytes, message.size);
  free(bytes);
}

static size_t compare(const unsigned char* got, const unsigned char* expected, size_t size) {
  size_t wrong = 0, first = 0;
  if (memcmp(got, expected, size) == 0) return 0;
  for (size_t i = size; i-- > 0;)
    if (got[i] != expected[i]) ++wrong, first = i;
  printf("%zu of %zu bytes wrong, the first at %zu: %02x, not %02x\n", wrong, size, first,
         got[first], expected[first]);
  return wrong;
}

size_t count_wrong(struct buffer buffer, const struct message* messages, int count) {
  unsigned char* expected = memory(buffer.size);
  unsigned char* got = memory(buffer.size);
  memset(expected, POISON, buffer.size);
  for (int i = 0; i < count; ++i) fill(expected + messages[i].offset, messages[i]);
  read_bytes(buffer, 0, got, buffer.size);
  const size_t wrong = compare(got, expected, buffer.size);
  free(expected);
  free(got);
  return wrong;
}
