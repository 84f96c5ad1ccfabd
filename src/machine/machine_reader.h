#pragma once
// The reader of machine files, and its parts, one per kind of entry. Internal to src/machine, and
// like json_reader.json.h only for *.json.cc files.

#include <array>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/json_reader.json.h"
#include "machine/driver_fields.h"
#include "machine/machine.h"

namespace polypath::machine {

// Far above any real machine, low enough that a hostile file costs milliseconds.
inline constexpr std::size_t kMostEntries = 4096;
inline constexpr std::size_t kMostExpansions = 65536;
inline constexpr std::size_t kMostUses = 32;
inline constexpr std::size_t kLongestName = 192;
inline constexpr std::size_t kLongestSentence = 4096;

struct Unit {
  std::string_view name;
  double factor;
};

/// The units of sizes.
inline constexpr std::array kSizes = {Unit{"B", 1}, Unit{"KiB", 1024}, Unit{"MiB", 1048576.0},
                                      Unit{"GiB", 1073741824.0}};

/// The resource that an element of "uses" names, as it stands there.
std::string used_name(const JsonField& use);

/// Reads quantities such as {"value": 393, "unit": "GB/s", "source": "nvlink"}, in SI units. With
/// `nominal`, those that say what they were before they were measured have that value.
class QuantityReader {
 public:
  explicit QuantityReader(bool nominal) : nominal_(nominal) {}

  /// A source that quantities may name.
  void add_source(const std::string& key) { sources_.insert(key); }
  [[nodiscard]] bool reads_nominal() const { return nominal_; }
  /// True if any quantity had a nominal value.
  [[nodiscard]] bool has_nominal() const { return has_nominal_; }

  /// `nominally`: this one as with the reader's own `nominal`.
  double read(const JsonField& field, const char* what, std::span<const Unit> units,
              bool nominally = false);
  Seconds duration(const JsonField& field, bool nominally = false);
  BytesPerSecond rate(const JsonField& field);
  Bytes size(const JsonField& field);

 private:
  bool nominal_;
  bool has_nominal_ = false;
  std::set<std::string> sources_;
};

class PlaceReader {
 public:
  PlaceReader(Machine& machine, QuantityReader& quantities)
      : machine_(machine), quantities_(quantities) {}
  void read(const JsonField& field);

 private:
  void read_latencies(const JsonField& field, Place& place);
  void add(const JsonField& field, Place place, bool numbered);

  Machine& machine_;
  QuantityReader& quantities_;
};

/// The places that a pattern names.
std::vector<PlaceId> places_at(const Machine& machine, const JsonField& field);

class ResourceReader {
 public:
  ResourceReader(Machine& machine, QuantityReader& quantities)
      : machine_(machine), quantities_(quantities) {}
  void read(const JsonField& field);
  /// An element of "uses" of a hop with that bandwidth, with the name that its pattern stands for.
  void read_use(const JsonField& field, const std::string& named_as, BytesPerSecond bandwidth,
                std::vector<Use>& uses);

 private:
  Burst burst(const JsonField& field, const Resource& resource);
  void add(const JsonField& field, const Resource& resource);
  ResourceId find(const JsonField& field, const std::string& wanted, const std::vector<Use>& uses);

  Machine& machine_;
  QuantityReader& quantities_;
  std::unordered_map<std::string, ResourceId> by_name_;
};

class HopReader {
 public:
  HopReader(Machine& machine, QuantityReader& quantities, ResourceReader& resources)
      : machine_(machine), quantities_(quantities), resources_(resources) {}
  void read(const JsonField& field);
  /// Gives the machine its hops.
  void finish();

 private:
  void add(const JsonField& field, Hop hop);
  HopKind kind_of(const JsonField& field, const Hop& hop);
  const std::string& name(PlaceId id) { return machine_.place(id).name; }

  Machine& machine_;
  QuantityReader& quantities_;
  ResourceReader& resources_;
  std::map<std::pair<PlaceId, PlaceId>, Hop> hops_;
  std::size_t expansions_ = 0;
};

class NetworkReader {
 public:
  NetworkReader(Machine& machine, QuantityReader& quantities, ResourceReader& resources)
      : machine_(machine), quantities_(quantities), resources_(resources) {}
  void read(const JsonField& field);

 private:
  void read_end(const JsonField& field);
  std::vector<Use> read_uses(const JsonField& field, PlaceId place);

  Machine& machine_;
  QuantityReader& quantities_;
  ResourceReader& resources_;
};

void read_driver(const JsonField& field, QuantityReader& quantities, DriverBehaviour& driver);

class MachineReader {
 public:
  /// `nominal` as of QuantityReader.
  explicit MachineReader(const JsonField& file, bool nominal = false)
      : file_(file), quantities_(nominal) {}
  Machine read();
  [[nodiscard]] bool has_nominal() const { return quantities_.has_nominal(); }

 private:
  void read_head();
  void read_costs(const JsonField& field);

  const JsonField& file_;
  QuantityReader quantities_;
  Machine machine_;
};

}  // namespace polypath::machine
