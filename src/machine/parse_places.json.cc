// The places of a machine file.

#include <fmt/format.h>

#include "machine/machine_reader.h"
#include "machine/pattern.h"

namespace polypath::machine {

void PlaceReader::read(const JsonField& field) {
  field.allow_only({"name", "kind", "model", "numa_node", "staging_latency", "staging_missing",
                    "relay_latency", "busy_latency", "reduction_latency", "reduction_bandwidth",
                    "node", "note"});
  field.check_note(kLongestSentence);
  Place place;
  const std::string kind = field.at("kind").text(kLongestName);
  if (kind != "gpu" && kind != "host")
    field.at("kind").reject(fmt::format("is '{}'", printable(kind)), "a place is a gpu or a host");
  place.kind = kind == "gpu" ? PlaceKind::gpu : PlaceKind::host;
  place.model = field.at("model").text(kLongestName);
  read_latencies(field, place);
  if (field.has("node")) place.node = field.at("node").integer(0, kMostPlaces - 1);
  const JsonField node = field.at("numa_node");
  const bool numbered = node.is_text() && node.text(kLongestName) == "{index}";
  if (!numbered) place.numa_node = node.integer(0, 1023);
  add(field.at("name"), std::move(place), numbered);
}

// Calibrations of old wrote down 0 where they had found no staging latency.
void PlaceReader::read_latencies(const JsonField& field, Place& place) {
  const JsonField staging = field.at("staging_latency");
  const bool said = field.has("staging_missing") && field.at("staging_missing").flag();
  const bool nothing_found = staging.has("nominal") && staging.at("nominal").number() > 0 &&
                             staging.at("value").number() == 0;
  place.staging_missing = !quantities_.reads_nominal() && (said || nothing_found);
  const auto latency = [&](const char* key, Seconds otherwise) {
    return field.has(key) ? quantities_.duration(field.at(key), place.staging_missing) : otherwise;
  };
  place.staging_latency = latency("staging_latency", {});
  place.relay_latency = latency("relay_latency", place.staging_latency);
  place.busy_latency =
      field.has("busy_latency") ? quantities_.duration(field.at("busy_latency")) : Seconds{};
  if (field.has("reduction_latency"))
    place.reduction_latency = quantities_.duration(field.at("reduction_latency"));
  if (field.has("reduction_bandwidth"))
    place.reduction_bandwidth = quantities_.rate(field.at("reduction_bandwidth"));
}

void PlaceReader::add(const JsonField& field, Place place, bool numbered) {
  const auto names = expand_range(field.text(kLongestName), kMostPlaces);
  if (names.empty() || machine_.places.size() + names.size() > kMostPlaces)
    field.reject("stands for no place or for too many",
                 "write gpu0 or gpu[0-3]; a machine has at most 64 places");
  for (const auto& [name, number] : names) {
    // "host" is short for the nearest host place and "direct" for the path without a stage.
    const bool reserved = name == "host" || name == "direct";
    if (!is_place_name(name) || reserved)
      field.reject(fmt::format("is '{}'", printable(name)),
                   "a place has a name such as gpu0; host and direct are taken");
    if (!select_places(machine_.places, name).empty())
      field.reject(fmt::format("is '{}' again", name), "places are told apart by name");
    place.name = name;
    if (numbered) place.numa_node = number;
    machine_.places.push_back(place);
  }
}

std::vector<PlaceId> places_at(const Machine& machine, const JsonField& field) {
  const std::string pattern = field.text(kLongestName);
  auto places = select_places(machine.places, pattern);
  if (places.empty())
    field.reject(fmt::format("is '{}'", printable(pattern)), "no place has such a name");
  return places;
}

}  // namespace polypath::machine
