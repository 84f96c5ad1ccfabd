// The resources of a machine file, and what names them in "uses".

#include <fmt/format.h>

#include <algorithm>

#include "machine/machine_reader.h"
#include "machine/pattern.h"

namespace polypath::machine {

std::string used_name(const JsonField& use) {
  if (use.is_text()) return use.text(kLongestName);
  use.allow_only({"resource", "weight"});
  return use.at("resource").text(kLongestName);
}

void ResourceReader::read(const JsonField& field) {
  field.allow_only({"name", "kind", "capacity", "burst", "copies_at_once", "note"});
  field.check_note(kLongestSentence);
  Resource resource;
  resource.kind = field.at("kind").text(kLongestName);
  if (field.has("copies_at_once"))
    resource.copies_at_once = field.at("copies_at_once").integer(1, 1024);
  if (field.has("capacity")) resource.capacity = quantities_.rate(field.at("capacity"));
  if (!field.has("capacity") && !field.has("copies_at_once"))
    field.reject("has neither capacity nor copies_at_once", "it would limit nothing");
  if (field.has("burst")) {
    if (!field.has("capacity"))
      field.at("burst").reject("has no capacity beside it", "a burst goes beyond a capacity");
    resource.burst = burst(field.at("burst"), resource);
  }
  const JsonField name = field.at("name");
  const auto names = expand_resource_name(machine_.places, name.text(kLongestName));
  if (names.empty())
    name.reject("stands for no resource", "no place matches what is before the dot");
  for (const std::string& each : names) {
    resource.name = each;
    add(name, resource);
  }
}

// A calibrated burst may have been none before: its nominal size is then 0.
Burst ResourceReader::burst(const JsonField& field, const Resource& resource) {
  field.allow_only({"rate", "size", "note"});
  field.check_note(kLongestSentence);
  const Burst burst{quantities_.rate(field.at("rate")), quantities_.size(field.at("size"))};
  if (burst.size.value == 0) return {};
  if (!(burst.rate > resource.capacity))
    field.at("rate").reject(fmt::format("is {:.4g} GB/s", burst.rate.value / 1e9),
                            fmt::format("a burst is faster than the capacity, which is {:.4g} GB/s",
                                        resource.capacity.value / 1e9));
  return burst;
}

void ResourceReader::add(const JsonField& field, const Resource& resource) {
  if (!is_resource_name(resource.name))
    field.reject(fmt::format("is '{}'", printable(resource.name)),
                 "a resource's name has letters, digits and _.-");
  const ResourceId id{static_cast<std::int32_t>(machine_.resources.size())};
  if (id.index() >= kMostEntries)
    field.reject("is one too many", "a machine has at most 4096 resources");
  if (!by_name_.emplace(resource.name, id).second)
    field.reject(fmt::format("gives '{}' again", printable(resource.name)),
                 "resources are told apart by name");
  machine_.resources.push_back(resource);
}

ResourceId ResourceReader::find(const JsonField& field, const std::string& wanted,
                                const std::vector<Use>& uses) {
  const auto found = by_name_.find(wanted);
  if (found == by_name_.end())
    field.reject(fmt::format("names '{}'", printable(wanted)),
                 "there is no such resource in /resources");
  const ResourceId id = found->second;
  if (std::any_of(uses.begin(), uses.end(), [&](Use use) { return use.resource == id; }))
    field.reject(fmt::format("names '{}' again", wanted), "give it one weight instead");
  return id;
}

void ResourceReader::read_use(const JsonField& field, const std::string& named_as,
                              BytesPerSecond bandwidth, std::vector<Use>& uses) {
  const bool plain = field.is_text();
  const JsonField named = plain ? field : field.at("resource");
  const double weight = plain || !field.has("weight") ? 1 : field.at("weight").number();
  if (!(weight >= 1e-3 && weight <= 1e3))
    field.at("weight").reject(fmt::format("is {}", weight), "a weight lies from 0.001 to 1000");
  const Use use{find(named, named_as, uses), weight};
  const Resource& resource = machine_.resource(use.resource);
  if (bandwidth.value * weight > resource.capacity.value * (1 + 1e-9))
    named.reject(
        fmt::format("names '{}' of {:.4g} GB/s", resource.name, resource.capacity.value / 1e9),
        "one copy alone would exceed it at the hop's bandwidth");
  uses.push_back(use);
}

}  // namespace polypath::machine
