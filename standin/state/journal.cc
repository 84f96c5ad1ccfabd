#include "standin/state/journal.h"

#include <fmt/format.h>

#include <fstream>

namespace polypath::standin {
namespace {

std::string current_gpu(Process& process) {
  const std::scoped_lock lock(process.lock);
  const ContextPointer current = Contexts::current_pointer();
  if (!process.contexts.is_alive(current)) return "none";
  return fmt::format("gpu{}", process.contexts.find(current).ordinal);
}

}  // namespace

// Closed after each line, so that a process that has seen a call return can read of it.
void note_mapping(const char* function, Address address, Result result) noexcept {
  Result otherwise = kSuccess;
  Process* process = running(otherwise);
  if (process == nullptr || process->settings.journal.empty()) return;
  try {
    std::ofstream(process->settings.journal, std::ios::app)
        << fmt::format("{} {} {:#x} {}\n", function, current_gpu(*process), address.value, result);
  } catch (const std::exception&) {
    // The journal's reader notices a line that could not be written.
  }
}

}  // namespace polypath::standin
