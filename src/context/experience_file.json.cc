#include "context/experience_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "context/kept_file.json.h"
#include "context/open.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/json_reader.json.h"
#include "core/json_text.json.h"
#include "core/log.h"
#include "core/settings.h"
#include "machine/load_machine.h"
#include "machine/store.h"

namespace polypath::context {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLearntSchema = "polypath.learnt/1";
constexpr std::size_t kMostKinds = 1024;
constexpr double kMostChunks = 64;  // times as many

// Of all that plans are made from.
std::string numbers_of(const Machine& machine) {
  Hash hash;
  hash.add(machine_to_json(machine));
  return fmt::format("{:016x}", hash.value());
}

Json json_of(const Machine& machine, const TransferKind& kind, const Learnt& learnt) {
  return {{"source", machine.place(kind.source).name},
          {"destination", machine.place(kind.destination).name},
          {"bytes", kind.size.value},
          {"natively", learnt.natively},
          {"shares", learnt.split.shares},
          {"chunks", learnt.split.chunks},
          {"paths_seconds", learnt.paths.value},
          {"native_seconds", learnt.native.value},
          {"transfers", learnt.transfers}};
}

class KindReader {
 public:
  KindReader(const Machine& machine, const JsonField& field) : machine_(machine), field_(field) {}

  std::pair<TransferKind, Learnt> read() const {
    TransferKind kind{.source = place_named(machine_, field_.at("source")),
                      .destination = place_named(machine_, field_.at("destination")),
                      .size = Bytes{field_.at("bytes").count(1)}};
    return {kind, learnt()};
  }

 private:
  [[nodiscard]] Learnt learnt() const {
    const Split split{.shares = field_.at("shares").numbers(),
                      .chunks = field_.at("chunks").number()};
    double sum = split.shares.empty() ? 1 : 0;
    for (const auto& [name, share] : split.shares) sum += share >= 0 ? share : 2;
    if (!(sum > 1 - 1e-6 && sum < 1 + 1e-6))
      field_.at("shares").reject("do not add up to 1", "each path carries its share");
    if (!(split.chunks > 1 / kMostChunks && split.chunks < kMostChunks))
      field_.at("chunks").reject("is out of range", "it is a factor");
    return {.split = split,
            .natively = field_.at("natively").flag(),
            .paths = Seconds{field_.at("paths_seconds").number()},
            .native = Seconds{field_.at("native_seconds").number()},
            .transfers = field_.at("transfers").integer(0, std::numeric_limits<int>::max())};
  }

  const Machine& machine_;
  const JsonField& field_;
};

class ExperienceFile final : public ExperienceKeeper {
 public:
  ExperienceFile(const Machine& machine, std::string path)
      : machine_(machine), path_(std::move(path)) {}

  LearntKinds read() noexcept override {
    const std::scoped_lock lock(mutex_);
    return read_file();
  }

  void keep(const LearntKinds& learnt) noexcept override {
    const std::scoped_lock lock(mutex_);
    try {
      std::map<TransferKind, Learnt> all(learnt.begin(), learnt.end());
      for (const auto& [kind, known] : read_file())
        if (all.size() < kMostKinds) all.try_emplace(kind, known);
      write_whole(path_, experience_to_json(machine_, {all.begin(), all.end()}));
    } catch (const std::exception& error) {
      log(LogLevel::info, std::string("what was learnt is not kept: ") + error.what());
    }
  }

 private:
  LearntKinds read_file() noexcept {
    try {
      std::ifstream file(path_, std::ios::binary);
      if (!file) return {};
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      return parse_experience(text, machine_, path_);
    } catch (const std::exception& error) {
      log(LogLevel::info, std::string("what was learnt cannot be read: ") + error.what());
      return {};
    }
  }

  std::mutex mutex_;
  const Machine machine_;
  const std::string path_;
};

}  // namespace

std::string experience_path(const Machine& machine, const std::string& driver) {
  return std::filesystem::path(calibration_path(machine, driver))
      .replace_extension(".learnt.json")
      .string();
}

std::string experience_to_json(const Machine& machine, const LearntKinds& learnt) {
  Json kinds = Json::array();
  for (const auto& [kind, known] : learnt) kinds.push_back(json_of(machine, kind, known));
  const Json document = {{"schema", kLearntSchema},
                         {"machine", machine.name},
                         {"numbers", numbers_of(machine)},
                         {"kinds", std::move(kinds)}};
  return json_text(document, 1) + "\n";
}

LearntKinds parse_experience(const std::string& text, const Machine& machine,
                             const std::string& origin) {
  const JsonDocument document(text, {origin, ErrorCode::invalid_machine, "Remove it."});
  const JsonField root = document.root();
  check_schema(root, kLearntSchema);
  if (root.at("numbers").text(kLongestKeptName) != numbers_of(machine)) return {};
  LearntKinds learnt;
  for (const JsonField& kind : root.at("kinds").elements(kMostKinds))
    learnt.push_back(KindReader(machine, kind).read());
  return learnt;
}

std::shared_ptr<ExperienceKeeper> open_experience_file(const Machine& machine,
                                                       const std::string& driver) {
  try {
    return std::make_shared<ExperienceFile>(machine, experience_path(machine, driver));
  } catch (const Error& error) {
    log(LogLevel::info, std::string("what is learnt will not be kept: ") + error.what());
    return nullptr;
  }
}

std::string learnt_report(const std::string& name) {
  const ChosenMachine chosen = choose_machine(name, read_settings());
  const auto keeper = open_experience_file(chosen.machine, chosen.driver_name());
  const LearntKinds learnt = keeper ? keeper->read() : LearntKinds{};
  return learnt.empty() ? std::string() : experience_to_json(chosen.machine, learnt);
}

}  // namespace polypath::context
