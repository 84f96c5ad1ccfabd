#include "nccl/known_choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string_view>

#include "core/hash.h"
#include "machine/load_machine.h"
#include "nccl/choices_file.h"
#include "nccl/trial.h"

namespace polypath::nccl {
namespace {

constexpr int kChoicesRevision = 4;  // one more with each change of what is measured

// Variables that tell NCCL how to work.
std::vector<std::string> nccl_variables() {
  std::vector<std::string> found;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable(*each);
    if (variable.starts_with("NCCL_") && !variable.starts_with("NCCL_DEBUG"))
      found.emplace_back(variable);
  }
  std::ranges::sort(found);
  return found;
}

// What was measured with little memory is not for programs that have more.
bool keeps(Member& member, const Choices& choices) {
  return member.around().keeps_choices && choices.longest() == Choices::kAnyLength;
}

}  // namespace

// Rank 0 says whether that was before.
Choices KnownChoices::for_member(Comm comm, Member& member) {
  std::vector<int> gpus;
  for (const Blob& each : member.all_gather(std::to_string(member.gpu().index())))
    gpus.push_back(std::stoi(each));
  const std::string around = circumstances(gpus, member);
  const ChoicesFile file(around);
  std::optional<Choices> known;
  if (member.rank() == 0) {
    known = measured_in(around);
    if (!known && member.around().keeps_choices) known = file.read();
  }
  const Blob said = member.all_gather(known ? choices_to_json(*known) : std::string()).front();
  Choices choices =
      said.empty() ? measure(real_, comm, member, most_) : parse_choices(said, "rank 0");
  if (said.empty() && member.rank() == 0 && keeps(member, choices)) file.write(choices);
  const std::unique_lock lock(mutex_);
  return measured_[around] = choices;
}

std::optional<Choices> KnownChoices::measured_in(const std::string& circumstances) const {
  const std::shared_lock lock(mutex_);
  const auto found = measured_.find(circumstances);
  return found == measured_.end() ? std::nullopt : std::optional(found->second);
}

// All that the measurement depends on.
std::string KnownChoices::circumstances(const std::vector<int>& gpus, Member& member) const {
  const Surroundings& around = member.around();
  int version = 0;
  if (real_.GetVersion != nullptr) (void)real_.GetVersion(&version);
  return fmt::format(
      "Polypath {}, choices {} up to {}, {}, messages {}, NCCL {}, {} {:016x}, GPUs {}, "
      "multiprocessors {}, {}",
      POLYPATH_VERSION_TEXT, kChoicesRevision, most_.value, member.shape(),
      member.messages() != nullptr, version, around.machine.name,
      Hash().add(machine_to_json(around.machine)).value(), fmt::join(gpus, " "),
      around.settings.collective_multiprocessors, fmt::join(nccl_variables(), " "));
}

}  // namespace polypath::nccl
