#pragma once
// The environment of the stand-in driver, read here and nowhere else. The names begin with STANDIN_
// because they are no settings of Polypath: programs that run on real GPUs never see them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "standin/facts/planned_failures.h"

namespace polypath::standin {

struct StandInSettings {
  std::string machine = "h200x4";  ///< STANDIN_MACHINE: a zoo name, synthetic:SEED or a file
  Bytes memory = 16_GiB;           ///< STANDIN_MEMORY: of each GPU, for one process
  Bytes context_memory;            ///< STANDIN_CONTEXT_MEMORY: a context's part of its GPU's memory
  /// STANDIN_COMPUTE_MODE: default, or exclusive: one context of one process on a GPU.
  bool exclusive = false;
  std::vector<PlannedFailure> failures;  ///< STANDIN_FAIL: see parse_failures
  bool strict = false;      ///< STANDIN_STRICT=1: violations end the program with status 86
  bool statistics = false;  ///< STANDIN_STATISTICS=1: counts of calls and copies, at exit
  bool log = false;         ///< STANDIN_LOG=1: why calls fail, as they do
  bool fabric = false;      ///< STANDIN_FABRIC=1: memory may have handles of a fabric
  std::string journal;      ///< STANDIN_JOURNAL: a file that is told of mappings; empty: none
  /// STANDIN_CHAOS: the seed of the chaotic driver; empty or not set: the one in virtual time.
  std::optional<std::uint64_t> chaos;
  /// STANDIN_DROP_PEER_BYTES=1: copies over peer access succeed, and their bytes do not arrive.
  bool drops_peer_bytes = false;
  int queue_depth = 1021;  ///< STANDIN_QUEUE_DEPTH: entries that a queue of a GPU has room for
  int queues = 4;          ///< STANDIN_QUEUES: of a GPU, which its streams share; both as on H200
  /// CUDA_VISIBLE_DEVICES: ordinals or UUIDs, separated by commas. "all" where it is not set.
  std::string visible = "all";
};

/// Error (invalid_argument) if one cannot be read.
StandInSettings read_settings();

}  // namespace polypath::standin
