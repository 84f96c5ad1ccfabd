#include "api/preload/outcome.h"

#include <fmt/format.h>

#include "core/text.h"

namespace polypath::preload {
namespace {

std::string row(const std::string& text, std::uint64_t calls, Bytes bytes) {
  return fmt::format("polypath: {:>12} {:>12}  {}\n", calls, describe_bytes(bytes), text);
}

}  // namespace

const char* text_of(Outcome outcome) {
  switch (outcome) {
#define POLYPATH_TEXT(name, text) \
  case Outcome::name: return text;
    POLYPATH_OUTCOMES(POLYPATH_TEXT)
#undef POLYPATH_TEXT
  }
  return "";
}

void Tally::clear() {
  for (Count& entry : *counts_.load()) {
    for (auto* each : {&entry.calls, &entry.bytes, &entry.large_bytes, &entry.missed})
      each->store(0, std::memory_order_relaxed);
  }
}

std::string Tally::table(int process, const std::string& why_off, const std::string& rank) const {
  std::array<std::string, 2> rows;
  std::array<std::uint64_t, 2> calls{};
  std::array<Bytes, 2> bytes{};
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    if (this->calls(outcome) == 0) continue;
    const std::size_t part = i < kAccelerated ? 0 : 1;
    std::string text = text_of(outcome);
    if (outcome == Outcome::off && !why_off.empty()) text += ": " + why_off;
    rows[part] += row("  " + text, this->calls(outcome), this->bytes(outcome));
    calls[part] += this->calls(outcome);
    bytes[part] += this->bytes(outcome);
  }
  const std::string among = rank.empty() ? "" : ", rank " + rank;
  return fmt::format("polypath: copies of process {}{}: calls, bytes\n", process, among) +
         row("accelerated", calls[0], bytes[0]) + rows[0] +
         row("passed to the driver as they were", calls[1], bytes[1]) + rows[1];
}

}  // namespace polypath::preload
