#include "pattern.h"

#include <string.h>

enum {
  WORD = 8,
  TABLE_WORDS = 8192,
  BLOCK = WORD * TABLE_WORDS, /* bytes with the same key */
  PIECE = 4096,               /* compared at a time */
};

/* 2^64 over the golden ratio, odd: its multiples are spread evenly. */
static const uint64_t kGolden = 0x9E3779B97F4A7C15u;

/* The finaliser of David Stafford's "Mix13": xor with the upper bits and multiply, twice. */
static uint64_t mix(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

static const uint64_t* table(void) {
  static uint64_t words[TABLE_WORDS];
  if (words[0] == 0)
    for (uint64_t i = 0; i < TABLE_WORDS; ++i) words[i] = mix((i + 1) * kGolden);
  return words;
}

uint64_t message_seed(uint64_t exchange, int sender, int message) {
  return mix(mix(mix(exchange + 1) ^ (uint64_t)sender) ^ (uint64_t)message);
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Part of one block: `words` is where it starts in the table. */
static void write_part(const uint64_t* words, uint64_t key, unsigned char* to, size_t bytes) {
  const size_t count = bytes / WORD;
  uint64_t last;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t word = words[i] ^ key;
    memcpy(to + i * WORD, &word, WORD);
  }
  if (bytes % WORD == 0) return;
  last = words[count] ^ key;
  memcpy(to + count * WORD, &last, bytes % WORD);
}

static void write_words(uint64_t seed, size_t offset, void* to, size_t bytes, uint64_t flip) {
  unsigned char* const target = to;
  size_t part;
  for (size_t done = 0; done < bytes; done += part) {
    const size_t at = offset + done;
    const uint64_t key = mix(seed + kGolden * (uint64_t)(at / BLOCK)) ^ flip;
    part = smaller(BLOCK - at % BLOCK, bytes - done);
    write_part(table() + at % BLOCK / WORD, key, target + done, part);
  }
}

void write_pattern(uint64_t seed, size_t offset, void* to, size_t bytes) {
  write_words(seed, offset, to, bytes, 0);
}

void write_complement(uint64_t seed, size_t offset, void* to, size_t bytes) {
  write_words(seed, offset, to, bytes, UINT64_MAX);
}

/* `before` are the wrong bytes before these. */
static size_t count_in_piece(const unsigned char* expected, const unsigned char* given,
                             size_t count, size_t offset, size_t before, size_t* first) {
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    if (given[i] == expected[i]) continue;
    if (before + wrong == 0) *first = offset + i;
    ++wrong;
  }
  return wrong;
}

size_t count_wrong(uint64_t seed, size_t offset, const void* bytes, size_t count, size_t* first) {
  unsigned char expected[PIECE];
  const unsigned char* const given = bytes;
  size_t wrong = 0;
  size_t piece;
  for (size_t done = 0; done < count; done += piece) {
    piece = smaller(PIECE, count - done);
    write_pattern(seed, offset + done, expected, piece);
    if (memcmp(expected, given + done, piece) != 0)
      wrong += count_in_piece(expected, given + done, piece, offset + done, wrong, first);
  }
  return wrong;
}
