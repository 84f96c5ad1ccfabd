#pragma once
// The work of streams, in terms that every runner understands.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/driver.h"

namespace polypath::standin {

struct MemoryCopy {
  Address destination;
  Address source;
  Bytes bytes;
  bool staged = false;  ///< between GPUs without peer access: through the host, by the driver
};

/// The kind of work that a call puts into a stream.
enum class WorkKind {
  copy,
  fill,
  record,
  wait,            ///< for an event of the stream's own context
  wait_elsewhere,  ///< for one of another context
  function,
  value,
  kernel,
  graph,
};

/// When the call that enqueues a copy may return.
enum class Returns {
  at_once,      ///< a pageable source has been read even so: small ones are read by the call itself
  source_read,  ///< once the source has been read, whether or not the bytes have arrived
  complete,     ///< once every byte is there
};

/// How a value in memory is compared with the wanted one.
enum class Comparison {
  at_least,      ///< found - wanted, as a signed number, is not negative
  equal,         ///< found == wanted
  common_bits,   ///< found & wanted is not 0
  missing_bits,  ///< ~(found | wanted) is not 0
};

/// A word in memory, of 4 or 8 bytes, that is waited for or written.
struct MemoryValue {
  Address address;
  std::uint64_t value = 0;
  Bytes bytes;
  Comparison comparison = Comparison::at_least;
};

/// One step of a node that waits for values and writes them.
struct ValueStep {
  MemoryValue value;
  bool waits = false;
};

/// A kernel by its name, and its parameters in words: values, then addresses.
struct KernelWork {
  std::string name;
  std::vector<std::uint64_t> words;
};

/// A node of a graph after others of the same graph: one copy, or steps one after another, or a
/// kernel.
struct CopyNode {
  Address destination;
  Address source;
  Bytes bytes;
  std::vector<int> after;
  std::vector<ValueStep> values = {};     ///< instead of a copy
  std::optional<KernelWork> kernel = {};  ///< the same

  [[nodiscard]] bool is_copy() const { return values.empty() && !kernel; }
};

/// Blocks until something has happened; called without the lock that calls take. Empty where there
/// is nothing to wait for.
using Waiting = std::function<void()>;

/// Thrown by a call that can do nothing yet, before it has done anything: it is made again after
/// the waiting.
struct Blocked {
  Waiting wait;
};

}  // namespace polypath::standin
