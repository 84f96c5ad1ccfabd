#include "pattern.h"

#include <stdbool.h>
#include <string.h>

enum { WORD = 8 };

/* 2^64 over the golden ratio, odd: its multiples are spread evenly. */
static const uint64_t kGolden = 0x9E3779B97F4A7C15u;

/* The finaliser of David Stafford's "Mix13": xor with the upper bits and multiply, twice. */
static uint64_t mix(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

static uint64_t word_at(uint64_t seed, size_t offset) {
  return mix(seed + kGolden * (uint64_t)(offset / WORD));
}

uint64_t message_seed(uint64_t exchange, int sender, int message) {
  return mix(mix(mix(exchange + 1) ^ (uint64_t)sender) ^ (uint64_t)message);
}

static void write_words(uint64_t seed, size_t offset, void* to, size_t bytes, uint64_t flip) {
  unsigned char* target = to;
  size_t done = 0;
  for (; done + WORD <= bytes; done += WORD) {
    const uint64_t word = word_at(seed, offset + done) ^ flip;
    memcpy(target + done, &word, WORD);
  }
  if (done < bytes) {
    const uint64_t word = word_at(seed, offset + done) ^ flip;
    memcpy(target + done, &word, bytes - done);
  }
}

void write_pattern(uint64_t seed, size_t offset, void* to, size_t bytes) {
  write_words(seed, offset, to, bytes, 0);
}

void write_complement(uint64_t seed, size_t offset, void* to, size_t bytes) {
  write_words(seed, offset, to, bytes, UINT64_MAX);
}

static bool is_right(uint64_t seed, size_t offset, const unsigned char* bytes) {
  uint64_t word;
  memcpy(&word, bytes, WORD);
  return word == word_at(seed, offset);
}

/* Byte by byte: for a word that is wrong, and for the last one, which may be short. */
static size_t count_in_word(uint64_t seed, size_t offset, const unsigned char* bytes, size_t count,
                            size_t* first, bool found) {
  unsigned char expected[WORD];
  size_t wrong = 0;
  write_pattern(seed, offset, expected, WORD);
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] == expected[i]) continue;
    if (wrong == 0 && !found) *first = offset + i;
    ++wrong;
  }
  return wrong;
}

size_t count_wrong(uint64_t seed, size_t offset, const void* bytes, size_t count, size_t* first) {
  const unsigned char* given = bytes;
  size_t wrong = 0;
  for (size_t done = 0; done < count; done += WORD) {
    const size_t left = count - done;
    if (left >= WORD && is_right(seed, offset + done, given + done)) continue;
    wrong += count_in_word(seed, offset + done, given + done, left < WORD ? left : WORD, first,
                           wrong > 0);
  }
  return wrong;
}
