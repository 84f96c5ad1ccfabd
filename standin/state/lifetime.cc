// When the driver of a process starts and ends, and its report at the end.

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

constexpr int kStatusOfViolations = 86;

// The process is never destroyed: threads may still be in a call when the program ends.
std::atomic<Process*> started = nullptr;
std::atomic<pid_t> owner = 0;
std::atomic<bool> ended = false;
std::map<std::string, std::uint64_t>& calls() {
  static auto& counts = *new std::map<std::string, std::uint64_t>;
  return counts;
}

void say(const std::string& line) {
  std::fputs(fmt::format("standin[{}]: {}\n", getpid(), line).c_str(), stderr);
}

Result code_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::invalid_argument: return kInvalidValue;
    case ErrorCode::out_of_memory: return kOutOfMemory;
    case ErrorCode::unsupported: return kNotSupported;
    default: return kUnknown;
  }
}

// From here on CUDA has shut down, as it has for a caller in a later exit handler.
void shut_down() {
  ended = true;
  if (owner == getpid()) started.load()->runner->stop();
}

void check_failures(const StandInSettings& settings, bool (*exists)(std::string_view)) {
  for (const PlannedFailure& failure : settings.failures)
    if (!exists(failure.function))
      fail(ErrorCode::invalid_argument, "STANDIN_FAIL names " + failure.function,
           "the driver has no such function", "Correct the name.");
}

void start_once(const StandInSettings& settings) {
  auto process = std::make_unique<Process>(settings);
  if (process->contexts.gpus().empty()) refuse(kNoDevice, "no GPU is visible");
  owner = getpid();
  started = process.release();
  std::atexit(shut_down);
}

void print_statistics(const Process& process) {
  for (const auto& [function, count] : calls()) say(fmt::format("{} called {}", function, count));
  for (const auto& [way, moved] : process.runner->moved())
    say(fmt::format("{} copies {} bytes {}", way, moved.copies, moved.bytes));
}

// Runs after all exit handlers and the destructors of all libraries that use this one.
[[gnu::destructor]] void end() {
  Process* process = started.load();
  if (process == nullptr || owner != getpid()) return;
  ended = true;
  if (process->settings.statistics) print_statistics(*process);
  const auto violations = process->runner->violations();
  for (const std::string& violation : violations) say(violation);
  if (violations.empty() || !process->settings.strict) return;
  std::fflush(nullptr);
  _exit(kStatusOfViolations);
}

}  // namespace

Result start(bool (*exists)(std::string_view)) noexcept {
  Result result = kSuccess;
  if (started.load() != nullptr && running(result) == nullptr) return result;
  static std::mutex starting;
  const std::scoped_lock lock(starting);
  try {
    const Process* process = running(result);
    const StandInSettings settings = process == nullptr ? read_settings() : process->settings;
    if (process == nullptr) check_failures(settings, exists);
    begin_call(settings, "cuInit");
    if (process == nullptr) start_once(settings);
    return kSuccess;
  } catch (const Error& error) {
    say(error.what());
    return kUnknown;
  } catch (...) {
    return answer_for_exception("cuInit");
  }
}

Process* running(Result& otherwise) noexcept {
  Process* process = started.load();
  const bool here = process != nullptr && owner.load() == getpid();
  otherwise = !here ? kNotInitialized : ended.load() ? kDeinitialized : kSuccess;
  return otherwise == kSuccess ? process : nullptr;
}

void begin_call(const StandInSettings& settings, const char* function) {
  if (calls_are_forbidden())
    refuse(kNotPermitted, "functions that streams run may not call the driver");
  if (!settings.statistics && settings.failures.empty()) return;
  static std::mutex counting;
  const std::scoped_lock lock(counting);
  const std::uint64_t use = ++calls()[function];
  for (const PlannedFailure& failure : settings.failures)
    if (failure.function == function && failure.first <= use && use <= failure.last)
      refuse(failure.code, fmt::format("STANDIN_FAIL says so of use {}", use));
}

Result answer_for_exception(const char* function) noexcept {
  const Process* process = started.load();
  const bool log = process != nullptr && process->settings.log;
  const auto explain = [&](Result result, const std::string& why) {
    if (log) say(fmt::format("{}: {} (error {})", function, why, result));
    return result;
  };
  try {
    throw;
  } catch (const Failure& failure) {
    return explain(failure.result, failure.why);
  } catch (const Error& error) {
    return explain(code_of(error), error.what());
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (...) {
    return explain(kUnknown, "something unexpected was thrown");
  }
}

}  // namespace polypath::standin
