/* What two or more ranks do with their buffers: each operation sends messages of one size around,
   and every byte is compared after it. */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "message.h"

/* What one run of an operation works with. */
struct job {
  int rank, ranks;
  enum kind send_kind, receive_kind;
  size_t size;   /* of one message */
  size_t offset; /* odd, so that nothing is aligned */
  int window;    /* messages under way at once */
  unsigned seed; /* no two jobs have the same messages */
};

/* Returns how many bytes are wrong in this rank. */
typedef size_t (*operation)(const struct job* job);

struct named_operation {
  const char* name;
  operation run;
};

/* All of them, ended by a null. */
extern const struct named_operation operations[];

#endif
