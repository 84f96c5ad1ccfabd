#include "context/plan_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "context/kept_file.json.h"
#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/json_reader.json.h"
#include "core/json_text.json.h"
#include "core/log.h"
#include "core/text.h"
#include "machine/load_machine.h"
#include "machine/store.h"
#include "plan/planner_revision.h"

namespace polypath::context {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPlansSchema = "polypath.plans/1";
// Of each kind; a program with more sizes than that searches for the others anew.
constexpr std::size_t kMostKept = 256;
constexpr std::size_t kLongestFile = 4 << 20;
constexpr std::size_t kMostPathsOfOne = 64;
constexpr int kMostTaper = 2;

constexpr std::pair<BothWays, const char*> kBothWays[] = {{BothWays::no, "no"},
                                                          {BothWays::by_threads, "threads"},
                                                          {BothWays::by_processes, "processes"},
                                                          {BothWays::by_one_thread, "one-thread"}};
constexpr std::pair<Executor, const char*> kExecutors[] = {
    {Executor::native, "native"}, {Executor::stream, "stream"}, {Executor::graph, "graph"}};

template <class Value, std::size_t size>
const char* name_in(const std::pair<Value, const char*> (&names)[size], Value value) {
  for (const auto& [each, name] : names)
    if (each == value) return name;
  return "";
}

// Of all that searches look at, but for what each is asked for.
std::string grounds_of(const Machine& machine, const Settings& settings) {
  Hash hash;
  hash.add(machine_to_json(machine));
  hash.add(fmt::format("\n{};{};{};{};{};{};{};{}", join(settings.include, ","),
                       join(settings.exclude, ","), settings.max_paths,
                       settings.min_message.value_or(Bytes{}).value, settings.min_chunk.value,
                       settings.staging_slot.value, settings.staging_slots, settings.min_gain));
  return fmt::format("{:016x}", hash.value());
}

class Writer {
 public:
  explicit Writer(const Machine& machine) : machine_(machine) {}

  [[nodiscard]] Json of(const FoundRecipe& recipe) const {
    Json json = ends(recipe.source, recipe.destination);
    json["bytes"] = recipe.size.value;
    json["both_ways"] = name_in(kBothWays, recipe.both_ways);
    json["executor"] = name_in(kExecutors, recipe.executor);
    json["paths"] = of(recipe.split);
    return json;
  }
  [[nodiscard]] Json of(const FoundSmallest& found) const {
    Json json = ends(found.source, found.destination);
    json["asked"] = asked(found.asked);
    json["bytes"] = found.smallest.value;
    return json;
  }
  [[nodiscard]] Json of(const FoundSet& set) const {
    Json transfers = Json::array();
    for (std::size_t k = 0; k < set.transfers.size(); ++k) {
      Json transfer = ends(set.transfers[k].source, set.transfers[k].destination);
      transfer["bytes"] = set.transfers[k].bytes.value;
      transfer["paths"] = of(set.splits[k]);
      transfers.push_back(std::move(transfer));
    }
    return {
        {"issuers", name_of(set.options.issuers)}, {"queues", set.options.queues},
        {"free_order", set.options.free_order},    {"order", set.order},
        {"asked", asked(set.options.executor)},    {"executor", name_in(kExecutors, set.executor)},
        {"transfers", std::move(transfers)}};
  }

 private:
  [[nodiscard]] Json ends(PlaceId source, PlaceId destination) const {
    return {{"source", machine_.place(source).name},
            {"destination", machine_.place(destination).name}};
  }
  [[nodiscard]] static const char* asked(std::optional<Executor> executor) {
    return executor ? name_in(kExecutors, *executor) : "auto";
  }
  [[nodiscard]] Json of(const FoundSplit& split) const {
    Json paths = Json::array();
    for (const PathDraft& part : split)
      paths.push_back({{"via", context::name_of(machine_, part.path)},
                       {"share", part.share},
                       {"chunks", part.chunks},
                       {"taper", part.taper}});
    return paths;
  }

  const Machine& machine_;
};

class Reader {
 public:
  explicit Reader(const Machine& machine) : machine_(machine) {}

  [[nodiscard]] FoundRecipe recipe(const JsonField& field) const {
    const auto [source, destination] = ends(field);
    return {.source = source,
            .destination = destination,
            .size = bytes(field),
            .both_ways = named(kBothWays, field.at("both_ways")),
            .executor = named(kExecutors, field.at("executor")),
            .split = split(field.at("paths"), source, destination)};
  }
  [[nodiscard]] FoundSmallest smallest(const JsonField& field) const {
    const auto [source, destination] = ends(field);
    return {source, destination, asked(field), bytes(field)};
  }
  [[nodiscard]] FoundSet set(const JsonField& field) const {
    FoundSet set{.transfers = {},
                 .options = {.issuers = parse_issuers(field.at("issuers").text(kLongestKeptName)),
                             .queues = field.at("queues").flag(),
                             .free_order = field.at("free_order").flag(),
                             .executor = asked(field)},
                 .executor = named(kExecutors, field.at("executor"))};
    for (const JsonField& transfer : field.at("transfers").elements(kMostJointTransfers)) {
      const auto [source, destination] = ends(transfer);
      set.transfers.push_back({source, destination, bytes(transfer)});
      set.splits.push_back(split(transfer.at("paths"), source, destination));
    }
    for (const JsonField& number : field.at("order").elements(kMostJointTransfers))
      set.order.push_back(static_cast<std::size_t>(number.integer(0, kMostJointTransfers)));
    return set;
  }

 private:
  [[nodiscard]] std::pair<PlaceId, PlaceId> ends(const JsonField& of) const {
    return {place_named(machine_, of.at("source")), place_named(machine_, of.at("destination"))};
  }
  [[nodiscard]] static Bytes bytes(const JsonField& of) { return {of.at("bytes").count(1)}; }

  template <class Value, std::size_t size>
  static Value named(const std::pair<Value, const char*> (&names)[size], const JsonField& field) {
    for (const auto& [value, name] : names)
      if (field.text(kLongestKeptName) == name) return value;
    field.reject("is unknown", "there is nothing of that name");
  }
  [[nodiscard]] static std::optional<Executor> asked(const JsonField& of) {
    const JsonField field = of.at("asked");
    if (field.text(kLongestKeptName) == "auto") return std::nullopt;
    return named(kExecutors, field);
  }
  [[nodiscard]] FoundSplit split(const JsonField& field, PlaceId source,
                                 PlaceId destination) const {
    const std::vector<Path> paths = find_paths(machine_, source, destination);
    FoundSplit split;
    for (const JsonField& part : field.elements(kMostPathsOfOne))
      split.push_back({.path = path(part.at("via"), paths),
                       .share = part.at("share").number(),
                       .chunks = part.at("chunks").number(),
                       .taper = part.at("taper").integer(0, kMostTaper)});
    return split;
  }
  [[nodiscard]] Path path(const JsonField& via, const std::vector<Path>& paths) const {
    for (const Path& path : paths)
      if (context::name_of(machine_, path) == via.text(kLongestKeptName)) return path;
    via.reject("is no path", "none between the two places leads there");
  }

  const Machine& machine_;
};

// The key that tells one result from another.
auto key_of(const FoundRecipe& found) {
  return std::tuple(found.source, found.destination, found.size, found.both_ways, found.executor);
}
auto key_of(const FoundSmallest& found) {
  return std::tuple(found.source, found.destination, found.asked);
}
auto key_of(const FoundSet& found) { return std::tuple(found.transfers, found.options); }

// Adds those that are not there yet, as far as there is room.
template <class Found>
void add_others(const std::vector<Found>& others, std::vector<Found>& found) {
  if (found.size() > kMostKept) found.resize(kMostKept);
  std::map<decltype(key_of(found.front())), bool> known;
  for (const Found& each : found) known[key_of(each)] = true;
  for (const Found& other : others)
    if (found.size() < kMostKept && !known.contains(key_of(other))) found.push_back(other);
}

class PlanFile final : public PlanKeeper {
 public:
  PlanFile(const Machine& machine, const Settings& settings, std::string path)
      : machine_(machine), settings_(settings), path_(std::move(path)) {}

  FoundPlans read() noexcept override {
    const std::scoped_lock lock(mutex_);
    return read_whole();
  }

  void keep(const FoundPlans& found) noexcept override {
    const std::scoped_lock lock(mutex_);
    try {
      FoundPlans all = found;
      const FoundPlans before = read_whole();
      add_others(before.recipes, all.recipes);
      add_others(before.smallest, all.smallest);
      add_others(before.sets, all.sets);
      write_whole(path_, found_plans_to_json(machine_, settings_, all));
    } catch (const std::exception& error) {
      log(LogLevel::info, std::string("plans are not kept: ") + error.what());
    }
  }

 private:
  FoundPlans read_whole() noexcept {
    try {
      const auto text = read_file(path_, kLongestFile);
      return text ? parse_found_plans(*text, machine_, settings_, path_) : FoundPlans{};
    } catch (const std::exception& error) {
      log(LogLevel::info, std::string("plans that were kept cannot be read: ") + error.what());
      return {};
    }
  }

  std::mutex mutex_;
  const Machine machine_;
  const Settings settings_;
  const std::string path_;
};

}  // namespace

std::string plan_file_path(const Machine& machine, const std::string& driver) {
  return std::filesystem::path(calibration_path(machine, driver))
      .replace_extension(".plans.json")
      .string();
}

std::string found_plans_to_json(const Machine& machine, const Settings& settings,
                                const FoundPlans& found) {
  const Writer writer(machine);
  const auto all = [&](const auto& each_found) {
    Json array = Json::array();
    for (const auto& each : each_found) array.push_back(writer.of(each));
    return array;
  };
  const Json document = {
      {"schema", kPlansSchema},        {"machine", machine.name},
      {"planner", planner_revision()}, {"grounds", grounds_of(machine, settings)},
      {"recipes", all(found.recipes)}, {"smallest", all(found.smallest)},
      {"sets", all(found.sets)}};
  return json_text(document) + "\n";
}

FoundPlans parse_found_plans(const std::string& text, const Machine& machine,
                             const Settings& settings, const std::string& origin) {
  const JsonDocument document(text, {origin, ErrorCode::invalid_machine, "Remove it."});
  const JsonField root = document.root();
  check_schema(root, kPlansSchema);
  if (root.at("planner").text(kLongestKeptName) != planner_revision()) return {};
  if (root.at("grounds").text(kLongestKeptName) != grounds_of(machine, settings)) return {};
  const Reader reader(machine);
  FoundPlans found;
  for (const JsonField& each : root.at("recipes").elements(kMostKept))
    found.recipes.push_back(reader.recipe(each));
  for (const JsonField& each : root.at("smallest").elements(kMostKept))
    found.smallest.push_back(reader.smallest(each));
  for (const JsonField& each : root.at("sets").elements(kMostKept))
    found.sets.push_back(reader.set(each));
  return found;
}

std::shared_ptr<PlanKeeper> open_plan_file(const Machine& machine, const std::string& driver,
                                           const Settings& settings) {
  if (!settings.tuned.empty()) return nullptr;
  try {
    return std::make_shared<PlanFile>(machine, settings, plan_file_path(machine, driver));
  } catch (const Error& error) {
    log(LogLevel::info, std::string("plans will not be kept: ") + error.what());
    return nullptr;
  }
}

}  // namespace polypath::context
