#include "core/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>

#include "core/error.h"
#include "core/statistics_target.h"
#include "core/text.h"

extern "C" char** environ;

namespace polypath {
namespace {

// How one setting is read from text and shown as text.
struct Entry {
  std::string variable;
  std::string meaning;
  std::function<void(Settings&, const std::string&)> read;
  std::function<std::string(const Settings&)> show;
};

[[noreturn]] void fail_setting(const std::string& variable, const std::string& text,
                               const std::string& why) {
  fail(ErrorCode::invalid_setting, fmt::format("{}='{}' cannot be used", variable, text), why,
       "'polypath info --settings' lists all settings.");
}

template <class Number>
Number parse_number(const std::string& variable, const std::string& text, Number low, Number high) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool complete = error == std::errc{} && end == text.data() + text.size();
  if (!complete || !(number >= low) || !(number <= high))
    fail_setting(variable, text, fmt::format("it must be a number from {} to {}", low, high));
  return number;
}

template <class Number>
Entry number(const char* variable, Number Settings::*member, Number low, Number high,
             const char* meaning) {
  return {
      variable, meaning,
      [=](Settings& s, const std::string& t) { s.*member = parse_number(variable, t, low, high); },
      [=](const Settings& s) { return fmt::format("{}", s.*member); }};
}

// The same, or "auto" for what is found out.
template <class Number>
Entry number_or_auto(const char* variable, std::optional<Number> Settings::*member, Number low,
                     Number high, const char* meaning) {
  const auto read = [=](Settings& s, const std::string& text) {
    s.*member = std::nullopt;
    if (text != "auto") s.*member = parse_number(variable, text, low, high);
  };
  return {variable, meaning, read, [=](const Settings& s) {
            return s.*member ? fmt::format("{}", *(s.*member)) : std::string("auto");
          }};
}

Bytes read_bytes(const char* variable, const std::string& text, Bytes low, Bytes high) {
  Bytes value;
  try {
    value = parse_bytes(text);
  } catch (const Error&) {
    fail_setting(variable, text, "it must be a size such as 4096, 64K or 8M");
  }
  if (value < low || value > high || value.value % 512 != 0)
    fail_setting(variable, text,
                 fmt::format("it must be a multiple of 512 from {} to {}", format_bytes(low),
                             format_bytes(high)));
  return value;
}

Entry bytes(const char* variable, Bytes Settings::*member, Bytes low, Bytes high,
            const char* meaning) {
  const auto read = [=](Settings& s, const std::string& text) {
    s.*member = read_bytes(variable, text, low, high);
  };
  return {variable, meaning, read, [=](const Settings& s) { return format_bytes(s.*member); }};
}

// The same, or "auto" for what is found out.
Entry bytes_or_auto(const char* variable, std::optional<Bytes> Settings::*member, Bytes low,
                    Bytes high, const char* meaning) {
  const auto read = [=](Settings& s, const std::string& text) {
    s.*member = std::nullopt;
    if (text != "auto") s.*member = read_bytes(variable, text, low, high);
  };
  return {variable, meaning, read,
          [=](const Settings& s) { return s.*member ? format_bytes(*(s.*member)) : "auto"; }};
}

Entry text(const char* variable, std::string Settings::*member, const char* meaning) {
  return {variable, meaning, [=](Settings& s, const std::string& t) { s.*member = t; },
          [=](const Settings& s) { return s.*member; }};
}

Entry choice(const char* variable, std::string Settings::*member,
             const std::vector<std::string>& allowed, const char* meaning) {
  const auto read = [=](Settings& s, const std::string& t) {
    if (std::find(allowed.begin(), allowed.end(), t) == allowed.end())
      fail_setting(variable, t, "it must be one of " + join(allowed, ", "));
    s.*member = t;
  };
  return {variable, meaning, read, [=](const Settings& s) { return s.*member; }};
}

Entry names(const char* variable, std::vector<std::string> Settings::*member, const char* meaning) {
  const auto read = [=](Settings& s, const std::string& t) {
    s.*member = split(t, ',');
    std::erase(s.*member, "");
  };
  return {variable, meaning, read, [=](const Settings& s) { return join(s.*member, ","); }};
}

Entry statistics(const char* variable, const char* meaning) {
  const auto read = [=](Settings& s, const std::string& t) {
    const bool is_folder = is_statistics_folder(t);
    if (t != "0" && t != "1" && !is_folder)
      fail_setting(variable, t, "it must be 0, 1 or a folder, which has a / in its name");
    s.statistics = {.wanted = t != "0", .folder = is_folder ? t : ""};
  };
  const auto write = [](const Settings& s) {
    if (!s.statistics.folder.empty()) return s.statistics.folder;
    return std::string(s.statistics.wanted ? "1" : "0");
  };
  return {variable, meaning, read, write};
}

Entry flag(const char* variable, bool Settings::*member, const char* meaning) {
  const auto read = [=](Settings& s, const std::string& t) {
    if (t != "0" && t != "1") fail_setting(variable, t, "it must be 0 or 1");
    s.*member = t == "1";
  };
  return {variable, meaning, read, [=](const Settings& s) { return s.*member ? "1" : "0"; }};
}

// The resources that plans may use.
std::vector<Entry> entries_of_paths() {
  return {
      text("POLYPATH_MACHINE", &Settings::machine,
           "machine to simulate: a zoo name, synthetic:SEED or a file; empty = choose"),
      flag("POLYPATH_PEER_ACCESS", &Settings::peer_access,
           "0 = never let this computer's GPUs reach each other's memory"),
      names("POLYPATH_PATHS", &Settings::include,
            "paths that automatic plans may use besides the direct one, by place; empty = all"),
      names("POLYPATH_EXCLUDE", &Settings::exclude, "paths that automatic plans never use"),
      number("POLYPATH_MAX_PATHS", &Settings::max_paths, 1, 16, "most paths in one plan"),
      bytes_or_auto("POLYPATH_MIN_MESSAGE", &Settings::min_message, 512_B, 1024_GiB,
                    "smaller messages are always one native copy; auto = where several paths begin "
                    "to pay between the two places, 2M at most"),
      bytes("POLYPATH_MIN_CHUNK", &Settings::min_chunk, 512_B, 1_GiB, "smallest chunk"),
  };
}

// The resources that plans need, and when they are made.
std::vector<Entry> entries_of_lanes() {
  return {
      bytes("POLYPATH_STAGING_SLOT", &Settings::staging_slot, 4_KiB, 1_GiB,
            "bytes of one staging slot: the largest chunk"),
      number("POLYPATH_STAGING_SLOTS", &Settings::staging_slots, 2, 64,
             "staging slots per hop into a staging place"),
      bytes("POLYPATH_COLLECTIVE_SCRATCH", &Settings::collective_scratch, 1_MiB, 64_GiB,
            "most scratch memory of a GPU for collectives, made when one first needs it: the more, "
            "the larger the pieces that a message goes in"),
      number(
          "POLYPATH_COLLECTIVE_MULTIPROCESSORS", &Settings::collective_multiprocessors, 0, 128,
          "most multiprocessors that a kernel of a long collective takes; 0 = 64, which leave room "
          "for others; 128 are faster where a GPU does nothing else"),
      flag("POLYPATH_MPI", &Settings::mpi,
           "0 = under 'polypath run', all collective calls of MPI are MPI's"),
      flag("POLYPATH_MPI_NODES", &Settings::mpi_nodes,
           "1 = all ranks of an MPI job are under Polypath, on all of its computers: they exchange "
           "messages when MPI begins, and make collectives together"),
      flag("POLYPATH_MPI_THREADS", &Settings::mpi_threads,
           "1 = under 'polypath run', MPI is initialised for several threads (MPI_THREAD_MULTIPLE) "
           "even if the program does not ask for that: calls that do not block need it on several "
           "computers"),
      flag("POLYPATH_NCCL", &Settings::nccl,
           "0 = under 'polypath run', all calls of NCCL are NCCL's"),
      flag("POLYPATH_NCCL_NODES", &Settings::nccl_nodes,
           "1 = NCCL communicators of several nodes are served, too: the process that makes their "
           "id listens at a port for their ranks"),
      bytes("POLYPATH_NCCL_MEASURED", &Settings::nccl_measured, 1_KiB, 1_GiB,
            "largest message that both are compared with when NCCL's first communicator is made: "
            "it takes two buffers of that size on each GPU"),
      number("POLYPATH_LANES", &Settings::lanes, 1, 64,
             "sets of streams and staging slots: program streams that can copy over several paths "
             "at a time"),
      choice("POLYPATH_PREPARE", &Settings::prepare, {"auto", "now", "background", "never"},
             "when contexts, streams and staging memory are made: in the call that needs them, or "
             "beside it, with native copies until then; auto = background under 'polypath run'; "
             "never = copies stay native"),
      number("POLYPATH_PREPARE_AFTER", &Settings::prepare_after, 0, 1000000000,
             "preparation in the background begins when copies would have gained so many "
             "microseconds by it, and have taken ten times as many"),
      number("POLYPATH_GIVE_BACK_AFTER", &Settings::give_back_after, 0.0, 1e6,
             "under 'polypath run', staging memory of GPUs is given back when no copy has taken "
             "several paths for so many seconds; 0 = at the end"),
  };
}

// How plans run, and which results are kept.
std::vector<Entry> entries_of_executors() {
  return {
      number("POLYPATH_MIN_GAIN", &Settings::min_gain, 0.0, 10.0,
             "predicted gain (0.03 = 3 %) below which a plan is one native copy"),
      choice("POLYPATH_EXECUTOR", &Settings::executor, {"auto", "native", "stream", "graph"},
             "how plans run"),
      number_or_auto("POLYPATH_GRAPH_AFTER", &Settings::graph_after, 0, 1000000,
                     "uses of an automatic plan before it becomes a graph; auto: once it would "
                     "have paid"),
      number("POLYPATH_GRAPH_CACHE", &Settings::graph_cache, 1, 65536, "executable graphs kept"),
      number("POLYPATH_PLAN_CACHE", &Settings::plan_cache, 1, 1048576, "plans kept"),
  };
}

// Pageable memory, and settings of the process.
std::vector<Entry> entries_of_the_process() {
  return {
      bytes("POLYPATH_PAGEABLE_MIN", &Settings::pageable_min, 512_B, 1024_GiB,
            "smaller copies between pageable host memory and a GPU are one native copy"),
      bytes("POLYPATH_PAGEABLE_WINDOW", &Settings::pageable_window, 4_KiB, 1_GiB,
            "most bytes of one pinned window that pageable memory is copied through"),
      number("POLYPATH_PAGEABLE_WINDOWS", &Settings::pageable_windows, 2, 64,
             "pinned windows per host place"),
      number(
          "POLYPATH_COPY_THREADS", &Settings::copy_threads, 0, 256,
          "threads that copy pageable memory; 0 = one per CPU that the caller may use, 16 at most"),
      flag("POLYPATH_PIECE_KERNELS", &Settings::piece_kernels,
           "0 = never copy many small pieces, asked for together, by kernels"),
      flag("POLYPATH_LEARN", &Settings::learn,
           "0 = never compare what transfers take with what was predicted"),
      flag("POLYPATH_KEEP_PLANS", &Settings::keep_plans,
           "0 = search for plans anew in each process, and keep none for the next one"),
      flag("POLYPATH_LEDGER", &Settings::ledger,
           "0 = plan without knowing of other processes' transfers"),
      text("POLYPATH_LEDGER_FOLDER", &Settings::ledger_folder,
           "where processes tell each other of their transfers; empty = below /dev/shm"),
      number("POLYPATH_COMMUNICATOR_TIMEOUT", &Settings::communicator_timeout, 0.001, 1e6,
             "seconds after which a collective that is not over becomes an error that names the "
             "ranks that have not come"),
      text("POLYPATH_NODE", &Settings::node,
           "name of this process's node for collectives of ranks: processes of another name are on "
           "another node, so that several nodes can be tried on one computer; empty = found"),
      text("POLYPATH_TUNED", &Settings::tuned,
           "file written by 'polypath tune' whose plans are used where it has them"),
      choice("POLYPATH_LOG", &Settings::log_level, {"off", "error", "warning", "info", "debug"},
             "what is written to stderr"),
      statistics(
          "POLYPATH_STATS",
          "1 = print statistics at exit; a folder (with a /) = each process writes them there"),
  };
}

// Output about the copies themselves.
std::vector<Entry> entries_of_traces() {
  return {
      text("POLYPATH_TRACE", &Settings::trace,
           "file for a timeline of the copies on this computer's GPUs, which Perfetto opens; %p = "
           "the process, %h = the computer; without %p the process is put before its ending; empty "
           "= none"),
      flag("POLYPATH_NVTX", &Settings::nvtx,
           "1 = name copies for NVIDIA's profilers, by NVTX ranges"),
  };
}

const std::vector<Entry>& entries() {
  // Not destroyed: threads of the background may still be at work when the program ends.
  static const auto& table = *[] {
    auto* all = new std::vector<Entry>;
    for (const auto part : {entries_of_paths, entries_of_lanes, entries_of_executors,
                            entries_of_the_process, entries_of_traces})
      for (Entry& entry : part()) all->push_back(std::move(entry));
    return all;
  }();
  return table;
}

// How many letters must be put in, left out or changed to make one name of the other.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char letter : one) {
    std::size_t before = row[0]++;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t changed = before + (letter == other[j] ? 0 : 1);
      before = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

void check_known(const std::string& variable) {
  constexpr std::size_t kLetters = 3;  // of a name that is misspelt
  std::size_t least = kLetters + 1;
  std::string nearest;
  for (const Entry& entry : entries()) {
    if (entry.variable == variable) return;
    const std::size_t letters = distance(variable, entry.variable);
    if (letters < least) least = letters, nearest = entry.variable;
  }
  fail(ErrorCode::invalid_setting, fmt::format("{} is not a setting", variable),
       nearest.empty() ? "none has a name like it" : nearest + " is one",
       "Correct its name or unset it; 'polypath info --settings' lists all settings.");
}

void check_consistent(const Settings& settings) {
  if (settings.min_chunk > settings.staging_slot)
    fail_setting("POLYPATH_MIN_CHUNK", format_bytes(settings.min_chunk),
                 fmt::format("a chunk must fit POLYPATH_STAGING_SLOT={}",
                             format_bytes(settings.staging_slot)));
}

}  // namespace

bool is_statistics_folder(const std::string& text) { return text.find('/') != std::string::npos; }

StatisticsTarget statistics_target() {
  const char* value = std::getenv("POLYPATH_STATS");
  const std::string text = value == nullptr ? "" : value;
  if (is_statistics_folder(text)) return {true, text};
  return {text == "1", ""};
}

Settings read_settings(const Environment& environment) {
  Settings settings;
  for (const Entry& entry : entries()) {
    const std::string value = environment(entry.variable);
    if (!value.empty()) entry.read(settings, value);
  }
  check_consistent(settings);
  if (settings.prepare == "never") settings.executor = "native";
  return settings;
}

Settings read_settings() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.starts_with("POLYPATH_")) check_known(text.substr(0, text.find('=')));
  }
  return read_settings([](const std::string& variable) {
    const char* value = std::getenv(variable.c_str());
    return std::string(value == nullptr ? "" : value);
  });
}

std::vector<SettingDescription> describe_settings(const Settings& settings) {
  const Settings defaults;
  std::vector<SettingDescription> descriptions;
  for (const Entry& entry : entries())
    descriptions.push_back(
        {entry.variable, entry.show(settings), entry.show(defaults), entry.meaning});
  return descriptions;
}

}  // namespace polypath
