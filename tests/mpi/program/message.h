/* Messages whose every byte is known, in buffers that are poisoned around them. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include "memory.h"

/* One message: its number says what its bytes are. */
struct message {
  unsigned number;
  size_t offset; /* in its buffer */
  size_t size;
};

/* Fills the whole buffer with bytes that no message has at their place. */
void poison(struct buffer buffer);
void put_message(struct buffer buffer, struct message message);
/* Compares every byte of the buffer: those of the messages, and the poison around them. Says what
   is wrong, and returns how many bytes are. */
size_t count_wrong(struct buffer buffer, const struct message* messages, int count);

#endif
