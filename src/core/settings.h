#pragma once
// Every POLYPATH_* environment variable, read here and nowhere else.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/layers.h"
#include "core/statistics_target.h"
#include "core/units.h"

namespace polypath {

/// The settings, with their defaults. `polypath info --settings` lists them with meaning and value.
struct Settings {
  std::string machine;                 ///< POLYPATH_MACHINE
  bool peer_access = true;             ///< POLYPATH_PEER_ACCESS
  std::vector<std::string> include;    ///< POLYPATH_PATHS
  std::vector<std::string> exclude;    ///< POLYPATH_EXCLUDE
  int max_paths = 16;                  ///< POLYPATH_MAX_PATHS
  std::optional<Bytes> min_message;    ///< POLYPATH_MIN_MESSAGE; none: as plans say
  Bytes min_chunk = 64_KiB;            ///< POLYPATH_MIN_CHUNK
  Bytes staging_slot = 16_MiB;         ///< POLYPATH_STAGING_SLOT
  int staging_slots = 3;               ///< POLYPATH_STAGING_SLOTS
  Bytes collective_scratch = 384_MiB;  ///< POLYPATH_COLLECTIVE_SCRATCH
  int collective_multiprocessors = 0;  ///< POLYPATH_COLLECTIVE_MULTIPROCESSORS
  bool mpi = true;                     ///< POLYPATH_MPI
  bool mpi_nodes = false;              ///< POLYPATH_MPI_NODES
  bool mpi_threads = false;            ///< POLYPATH_MPI_THREADS
  bool nccl = true;                    ///< POLYPATH_NCCL
  bool nccl_nodes = false;             ///< POLYPATH_NCCL_NODES
  Bytes nccl_measured = 1_GiB;         ///< POLYPATH_NCCL_MEASURED
  int lanes = 4;                       ///< POLYPATH_LANES
  std::string prepare = "auto";        ///< POLYPATH_PREPARE
  int prepare_after = 5000;            ///< POLYPATH_PREPARE_AFTER
  double give_back_after = 30;         ///< POLYPATH_GIVE_BACK_AFTER, in seconds
  double min_gain = 0.03;              ///< POLYPATH_MIN_GAIN
  std::string executor = "auto";       ///< POLYPATH_EXECUTOR
  std::optional<int> graph_after;      ///< POLYPATH_GRAPH_AFTER; none: once it would have paid
  int graph_cache = 64;                ///< POLYPATH_GRAPH_CACHE
  int plan_cache = 1024;               ///< POLYPATH_PLAN_CACHE
  Bytes pageable_min = 2_MiB;          ///< POLYPATH_PAGEABLE_MIN
  Bytes pageable_window = 16_MiB;      ///< POLYPATH_PAGEABLE_WINDOW
  int pageable_windows = 3;            ///< POLYPATH_PAGEABLE_WINDOWS
  int copy_threads = 0;                ///< POLYPATH_COPY_THREADS
  bool piece_kernels = true;           ///< POLYPATH_PIECE_KERNELS
  bool learn = true;                   ///< POLYPATH_LEARN
  bool keep_plans = true;              ///< POLYPATH_KEEP_PLANS
  bool ledger = true;                  ///< POLYPATH_LEDGER
  std::string ledger_folder;           ///< POLYPATH_LEDGER_FOLDER
  double communicator_timeout = 600;   ///< POLYPATH_COMMUNICATOR_TIMEOUT, in seconds
  std::string node;                    ///< POLYPATH_NODE; empty: found
  std::string tuned;                   ///< POLYPATH_TUNED
  std::string log_level = "warning";   ///< POLYPATH_LOG
  StatisticsTarget statistics;         ///< POLYPATH_STATS
  std::string trace;                   ///< POLYPATH_TRACE
  bool nvtx = false;                   ///< POLYPATH_NVTX
  /// No variable: the way in says that the program has streams beside ours (Options::own_contexts).
  bool own_contexts = false;
};

/// One setting for people: its variable, value now, default and meaning.
struct SettingDescription {
  std::string variable;
  std::string value;
  std::string default_value;
  std::string meaning;
};

/// Looks a variable up; empty if it is not set.
using Environment = std::function<std::string(const std::string& variable)>;

/// The settings from the process environment. Error (invalid_setting) names the variable, its value
/// and the values allowed; an unknown POLYPATH_* variable is an error too, with the nearest known
/// name.
Settings read_settings();
/// The same from any source of variables, for tests; does not look for unknown ones.
Settings read_settings(const Environment& environment);

/// All settings with the values of `settings`, in the order of the struct.
std::vector<SettingDescription> describe_settings(const Settings& settings);

}  // namespace polypath
