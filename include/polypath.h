#ifndef POLYPATH_H
#define POLYPATH_H
/*
 * The C interface of Polypath: copies between the memories of one machine over every path that
 * helps, and collective operations of ranks with a GPU each.
 *
 * Every function that can fail returns a polypath_status; polypath_last_error() then has the
 * message, which says what is wrong and what to do. A call with a bad argument changes nothing. All
 * functions may be called from any thread; a handle may not be used while another thread destroys
 * it. A forked child may not use its parent's contexts: its calls fail.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define POLYPATH_API __attribute__((visibility("default")))
#else
#define POLYPATH_API
#endif

typedef enum polypath_status {
  POLYPATH_SUCCESS = 0,
  POLYPATH_INVALID_ARGUMENT = 1, /**< a null, a size, an address, a name: the message names it */
  POLYPATH_INVALID_MACHINE = 2,  /**< a damaged machine file: the message points at the field */
  POLYPATH_INVALID_SETTING = 3,  /**< a POLYPATH_* variable that cannot be used */
  POLYPATH_OUT_OF_MEMORY = 4,
  POLYPATH_DRIVER_ERROR = 5, /**< a driver call failed */
  POLYPATH_UNSUPPORTED = 6,
  POLYPATH_INTERNAL_ERROR = 7,    /**< always a bug of the library */
  POLYPATH_NOISY_MACHINE = 8,     /**< measurements do not repeat; no call here measures yet */
  POLYPATH_COMMUNICATOR_ERROR = 9 /**< another rank is missing, ended or gave up */
} polypath_status;

/** How a copy runs: one of the constants below. Any other int gets POLYPATH_INVALID_ARGUMENT. */
typedef int polypath_executor;
enum {
  POLYPATH_AUTO = 0,   /**< the method that is predicted to be fastest */
  POLYPATH_NATIVE = 1, /**< one plain copy */
  POLYPATH_STREAM = 2, /**< several paths, tied together by streams and events */
  POLYPATH_GRAPH = 3   /**< several paths, as one cached graph */
};

/** A machine with its driver, engine, streams and memory. */
typedef struct polypath_context polypath_context;

/** A stream of a GPU: work on it runs in order. */
typedef uint64_t polypath_stream;

/** Counters since the context was created; bytes in bytes. */
typedef struct polypath_statistics {
  uint64_t transfers;       /**< copies asked for */
  uint64_t native_copies;   /**< done as one native copy by decision */
  uint64_t stream_copies;   /**< done over several paths by streams */
  uint64_t graph_copies;    /**< done over several paths by a graph */
  uint64_t pageable_copies; /**< of pageable memory, done through windows of pinned memory */
  uint64_t fallbacks;       /**< done as one native copy because something failed */
  uint64_t errors;          /**< not done */
  uint64_t graph_hits;      /**< launches of a cached graph as it was */
  uint64_t graph_updates;   /**< launches of a cached graph with new addresses */
  uint64_t graph_instantiations;
  uint64_t graph_evictions;
  uint64_t bytes;        /**< of all transfers */
  uint64_t staged_bytes; /**< of these, over staged paths */
} polypath_statistics;

/** The version of the library in use, "MAJOR.MINOR.PATCH". Never null; valid for ever. */
POLYPATH_API const char* polypath_version(void);

/** A status as text: "success", "invalid argument", ... Never null; valid for ever. */
POLYPATH_API const char* polypath_status_name(polypath_status status);

/** What the last failed call of this thread had to say; "" before the first. Valid until this
 *  thread's next failing call. */
POLYPATH_API const char* polypath_last_error(void);

/**
 * Opens a machine.
 * @param machine  a machine of the zoo ("h200x4"), "synthetic:SEED" or a machine file, which is
 *                 simulated; NULL: the POLYPATH_MACHINE setting, else this computer's GPUs, and
 *                 where there are none "h200x4"
 * @param context  receives the context
 */
POLYPATH_API polypath_status polypath_context_create(const char* machine,
                                                     polypath_context** context);

/** As polypath_context_create, and keeps the timeline of all copies for polypath_trace. */
POLYPATH_API polypath_status polypath_context_create_traced(const char* machine,
                                                            polypath_context** context);

/** Waits for all work, gives everything back and closes the context. NULL is allowed. */
POLYPATH_API polypath_status polypath_context_destroy(polypath_context* context);

/**
 * Allocates device memory of a GPU or pinned memory of a host, aligned to 512 bytes.
 * @param place    "gpu0", "host0"; "host" is the first host memory
 * @param bytes    at least 1
 * @param address  receives the address; of a simulated machine it can be read and written by the
 * CPU
 */
POLYPATH_API polypath_status polypath_allocate(polypath_context* context, const char* place,
                                               size_t bytes, void** address);

/** Waits for all work of the context, then frees what polypath_allocate returned. */
POLYPATH_API polypath_status polypath_free(polypath_context* context, void* address);

/** Creates a stream of a GPU ("gpu0"). */
POLYPATH_API polypath_status polypath_stream_create(polypath_context* context, const char* gpu,
                                                    polypath_stream* stream);

/** Waits for the stream's work, then destroys it. */
POLYPATH_API polypath_status polypath_stream_destroy(polypath_context* context,
                                                     polypath_stream stream);

/**
 * A stream of the program's own for the functions of communicators below: a CUstream or
 * cudaStream_t of a GPU's primary context, or a default stream of the current context (NULL,
 * CU_STREAM_LEGACY, CU_STREAM_PER_THREAD). Nothing is created, and it is not destroyed here.
 * Errors: POLYPATH_UNSUPPORTED on a simulated machine; POLYPATH_INVALID_ARGUMENT for a stream of
 * another context.
 */
POLYPATH_API polypath_status polypath_stream_adopt(polypath_context* context, void* cuda_stream,
                                                   polypath_stream* stream);

/** Blocks until all work on the stream has finished. */
POLYPATH_API polypath_status polypath_stream_synchronize(polypath_context* context,
                                                         polypath_stream stream);

/**
 * Enqueues a copy and returns. It starts after what is in the stream and is complete before what
 * comes next in it. 0 bytes are allowed and do nothing. If several paths cannot be used, the copy
 * is one native copy and counts as a fallback. Errors: POLYPATH_INVALID_ARGUMENT (null or unknown
 * address, a range beyond its allocation, overlapping ranges, unknown stream);
 * POLYPATH_DRIVER_ERROR if not even a native copy could be enqueued, or if part of a copy over
 * several paths could be neither finished nor waited for: then the destination's bytes are
 * undefined.
 */
POLYPATH_API polypath_status polypath_copy(polypath_context* context, void* destination,
                                           const void* source, size_t bytes,
                                           polypath_stream stream);

/**
 * As polypath_copy, with a choice of executor.
 * @param used  if not NULL receives how the copy runs (never POLYPATH_AUTO)
 */
POLYPATH_API polypath_status polypath_copy_with(polypath_context* context, void* destination,
                                                const void* source, size_t bytes,
                                                polypath_stream stream, polypath_executor executor,
                                                polypath_executor* used);

/**
 * As polypath_copy, on a stream of the program's own: a CUstream or cudaStream_t of a GPU's primary
 * context, or a default stream of the current context (NULL, CU_STREAM_LEGACY,
 * CU_STREAM_PER_THREAD). The addresses are the program's own as well, from cuMemAlloc, cudaMalloc
 * or pinned memory; with pageable memory the call blocks as cuMemcpyAsync does. GPUs are given
 * access to each other's memory: the program's own cuCtxEnablePeerAccess then says that it is
 * enabled already, unless POLYPATH_PEER_ACCESS is 0. Needs a context on this computer's GPUs.
 * Errors as polypath_copy; POLYPATH_UNSUPPORTED on a simulated machine; POLYPATH_INVALID_ARGUMENT
 * for a stream of another context.
 */
POLYPATH_API polypath_status polypath_copy_on(polypath_context* context, void* destination,
                                              const void* source, size_t bytes, void* cuda_stream);

/** One of many copies. */
typedef struct polypath_piece {
  void* destination;
  const void* source;
  size_t bytes;
} polypath_piece;

/**
 * Many copies as polypath_copy_on makes them, planned together. The bytes are what they would be
 * one after the other in the stream; copies between different places run beside each other where
 * none of the pieces writes what another one reads or writes. Many small ones may be made by a
 * kernel, which needs a free multiprocessor: set POLYPATH_PIECE_KERNELS to 0 if kernels of the
 * program's own fill a GPU until these very copies have arrived.
 * @param enqueued  if not NULL receives how many were enqueued: all; none, if an argument of any
 *                  piece is wrong; else how many from the first one on: what comes after may
 *                  be enqueued in part, and can be asked for again if it is independent. An
 *                  address that CUDA does not know may be pageable memory: whether it is there
 *                  shows only when its copy is made
 */
POLYPATH_API polypath_status polypath_copy_many_on(polypath_context* context,
                                                   const polypath_piece* pieces, size_t count,
                                                   void* cuda_stream, size_t* enqueued);

/**
 * What a copy between two places would do on the idle machine, and why: JSON of schema
 * polypath.plan/1. "host" is the host memory nearest to the GPU at the other end.
 * @param json   receives the text with its final 0, if `capacity` bytes are enough; may be NULL if
 *               capacity is 0
 * @param needed if not NULL receives the bytes that the text needs with its final 0
 * Errors: POLYPATH_INVALID_ARGUMENT also if capacity is not 0 and not enough.
 */
POLYPATH_API polypath_status polypath_plan(polypath_context* context, const char* source,
                                           const char* destination, size_t bytes, char* json,
                                           size_t capacity, size_t* needed);

/** Reads the counters. */
POLYPATH_API polypath_status polypath_get_statistics(polypath_context* context,
                                                     polypath_statistics* statistics);

/** Seconds on the machine's clock, from the creation of the context; virtual when simulated. */
POLYPATH_API polypath_status polypath_now(polypath_context* context, double* seconds);

/** Waits for all work and writes the timeline of all copies so far to a file that Perfetto opens.
 *  Needs a context of polypath_context_create_traced. */
POLYPATH_API polypath_status polypath_trace(polypath_context* context, const char* path);

/**
 * One rank's end of collective operations. Ranks are processes or threads with a GPU each; on
 * several nodes the parts in a node go by memory, and those between nodes by TCP. All ranks make
 * the same calls in the same order. Calls of several threads take turns.
 *
 * A call enqueues the rank's part on a stream of its GPU and returns: it starts after what is in
 * the stream, and what comes next there is after all that touches the rank's memory. The first call
 * of each kind and size waits for the other ranks of the node. After POLYPATH_COMMUNICATOR_ERROR
 * the outputs of all calls that are not over are undefined, and the communicator is of no more use:
 * destroy it. POLYPATH_INVALID_ARGUMENT also where another rank has called something else.
 *
 * Destroy communicators before their context.
 */
typedef struct polypath_communicator polypath_communicator;

/** The types of elements. Any other int gets POLYPATH_INVALID_ARGUMENT. */
typedef int polypath_type;
enum {
  POLYPATH_FLOAT32 = 0,
  POLYPATH_FLOAT64 = 1,
  POLYPATH_FLOAT16 = 2,
  POLYPATH_BFLOAT16 = 3,
  POLYPATH_INT8 = 4,
  POLYPATH_INT16 = 5,
  POLYPATH_INT32 = 6,
  POLYPATH_INT64 = 7,
  POLYPATH_UINT8 = 8,
  POLYPATH_UINT16 = 9,
  POLYPATH_UINT32 = 10,
  POLYPATH_UINT64 = 11
};

/** How elements are reduced. Any other int gets POLYPATH_INVALID_ARGUMENT. */
typedef int polypath_operator;
enum {
  POLYPATH_SUM = 0,
  POLYPATH_MINIMUM = 1,
  POLYPATH_MAXIMUM = 2,
  POLYPATH_PRODUCT = 3,
  POLYPATH_AVERAGE = 4
};

/**
 * Gives each rank's `bytes` bytes at `mine` to all ranks: `all` receives those of rank 0, of rank 1
 * and so on. Waits for all ranks. `user` is what was passed with it. 0 for success. With MPI:
 *     return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
 * *(MPI_Comm*)user);
 */
typedef int (*polypath_all_gather)(const void* mine, void* all, size_t bytes, void* user);

/**
 * Joins `size` ranks that have a way to exchange bytes. Waits for all of them.
 * @param gpu         this rank's ("gpu0"), of the context's machine; NULL: the one of its number
 *                    among the ranks of its node
 * @param rank        0 to size - 1
 * @param all_gather  called by this function; where there are several nodes, also when a kind of
 *                    call is made first, and when the communicator is destroyed
 */
POLYPATH_API polypath_status polypath_communicator_create(polypath_context* context,
                                                          const char* gpu, int rank, int size,
                                                          polypath_all_gather all_gather,
                                                          void* user,
                                                          polypath_communicator** communicator);

/**
 * Joins ranks that have none. Waits for all of them, for POLYPATH_COMMUNICATOR_TIMEOUT at most.
 * @param where  "HOST:PORT" where rank 0 listens, or a folder that all share, with a "/" in it
 */
POLYPATH_API polypath_status polypath_communicator_join(polypath_context* context, const char* gpu,
                                                        int rank, int size, const char* where,
                                                        polypath_communicator** communicator);

/** Waits for what is queued and for all ranks, which destroy theirs too. An error that any rank has
 *  found is reported by all of them. The handle is gone in any case. NULL is allowed. */
POLYPATH_API polypath_status polypath_communicator_destroy(polypath_communicator* communicator);

/** Waits for what is queued; errors of any rank as far as they are known. On a simulated machine,
 *  whose ranks are threads with one context, it waits for all ranks to call it. */
POLYPATH_API polypath_status polypath_communicator_synchronize(polypath_communicator* communicator);

/** Whether all is well, without waiting. */
POLYPATH_API polypath_status polypath_communicator_check(polypath_communicator* communicator);

/** Ends the communicator at all ranks, whose calls fail and say why; also a call of another thread
 *  that is waiting. */
POLYPATH_API polypath_status polypath_communicator_abort(polypath_communicator* communicator,
                                                         const char* why);

/**
 * The operations. Counts are of elements; `input` and `output` are memory of this rank's GPU.
 *
 *     function        input        output             what rank r has in the end
 *     allreduce       count        count              the reduction of all inputs
 *     reduce          count        count at the root  the same, the root only
 *     reduce_scatter  size*count   count              part r of it
 *     allgather       count        size*count         the inputs one after another
 *     alltoall        size*count   size*count         part r of each input
 *     alltoallv       counts       counts             counts[i*size + j] elements from i to j
 *     broadcast       count (root) count              what the root has
 *
 * In place: allreduce and the all-to-alls with output == input, allgather with input == part r of
 * output, reduce_scatter with output == part r of input; at all ranks alike. An address that is not
 * needed (reduce's output, broadcast's input elsewhere than at the root) may be NULL. `counts` is
 * the same at all ranks.
 */
POLYPATH_API polypath_status polypath_allreduce(polypath_communicator* communicator,
                                                const void* input, void* output, size_t count,
                                                polypath_type type, polypath_operator operation,
                                                polypath_stream stream);
POLYPATH_API polypath_status polypath_reduce(polypath_communicator* communicator, const void* input,
                                             void* output, size_t count, polypath_type type,
                                             polypath_operator operation, int root,
                                             polypath_stream stream);
POLYPATH_API polypath_status polypath_reduce_scatter(polypath_communicator* communicator,
                                                     const void* input, void* output, size_t count,
                                                     polypath_type type,
                                                     polypath_operator operation,
                                                     polypath_stream stream);
POLYPATH_API polypath_status polypath_allgather(polypath_communicator* communicator,
                                                const void* input, void* output, size_t count,
                                                polypath_type type, polypath_stream stream);
POLYPATH_API polypath_status polypath_alltoall(polypath_communicator* communicator,
                                               const void* input, void* output, size_t count,
                                               polypath_type type, polypath_stream stream);
POLYPATH_API polypath_status polypath_alltoallv(polypath_communicator* communicator,
                                                const void* input, void* output,
                                                const uint64_t* counts, polypath_type type,
                                                polypath_stream stream);
POLYPATH_API polypath_status polypath_broadcast(polypath_communicator* communicator,
                                                const void* input, void* output, size_t count,
                                                polypath_type type, int root,
                                                polypath_stream stream);

/** Work put into `stream` afterwards starts after all that was in the other ranks' streams when
 *  they called it. */
POLYPATH_API polypath_status polypath_barrier(polypath_communicator* communicator,
                                              polypath_stream stream);

/** The operations, for calls that are made again and again. */
typedef int polypath_collective;
enum {
  POLYPATH_ALLREDUCE = 0,
  POLYPATH_REDUCE = 1,
  POLYPATH_REDUCE_SCATTER = 2,
  POLYPATH_ALLGATHER = 3,
  POLYPATH_ALLTOALL = 4,
  POLYPATH_BROADCAST = 5,
  POLYPATH_ALLTOALLV = 6
};

/** Describes a call. Fields that the operation does not need are not read. Set all to 0 first. */
typedef struct polypath_call_description {
  polypath_collective collective;
  const void* input;
  void* output;
  size_t count;
  polypath_type type;
  polypath_operator operation;
  int root;
  const uint64_t* counts; /**< of POLYPATH_ALLTOALLV, times `count` */
} polypath_call_description;

/** A call to be made again and again in the same memory. */
typedef struct polypath_call polypath_call;

/** Makes what the call needs, and enqueues nothing. Waits for the ranks of the node. */
POLYPATH_API polypath_status polypath_call_create(polypath_communicator* communicator,
                                                  const polypath_call_description* description,
                                                  polypath_call** call);
/** As the function of its operation, and faster. It may be captured into a CUDA graph, at all
 *  ranks alike, on one node. */
POLYPATH_API polypath_status polypath_call_start(polypath_call* call, polypath_stream stream);
/** Before its communicator. Queued work goes on. NULL is allowed. */
POLYPATH_API polypath_status polypath_call_destroy(polypath_call* call);

#ifdef __cplusplus
}
#endif
#endif
