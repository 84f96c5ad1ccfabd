#include "driver/cuda/gpu_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_api.h"
#include "driver/cuda/nvml.h"

namespace polypath::cuda {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

// -1 in the file means that there is one node, or none is known.
int numa_node_of(const std::string& bus_id) {
  const auto text = read_file("/sys/bus/pci/devices/" + bus_id + "/numa_node", 32);
  return text ? std::max(static_cast<int>(std::strtol(text->c_str(), nullptr, 10)), 0) : 0;
}

GpuFacts cuda_facts(const Functions& cuda, int gpu, int count) {
  GpuFacts facts;
  std::array<char, 256> text{};
  if (cuda.device_name(text.data(), text.size(), gpu) == kSuccess) facts.model = text.data();
  if (cuda.device_bus_id(text.data(), text.size(), gpu) == kSuccess)
    facts.bus_id = lower(text.data());
  GpuUuid uuid;
  if (cuda.device_uuid(&uuid, gpu) == kSuccess) facts.uuid = text_of(uuid);
  facts.number = gpu;
  std::size_t memory = 0;
  if (cuda.device_memory(&memory, gpu) == kSuccess) facts.memory = {memory};
  cuda.device_attribute(&facts.copy_engines, kDeviceAsyncEngineCount, gpu);
  facts.numa_node = numa_node_of(facts.bus_id);
  for (int peer = 0; peer < count; ++peer) {
    int possible = 0;
    if (peer != gpu) cuda.device_can_access(&possible, gpu, peer);
    facts.reaches.push_back(possible != 0);
  }
  return facts;
}

void add_nvml(const NvmlFacts& nvml, std::vector<GpuFacts>& gpus, std::size_t index) {
  GpuFacts& facts = gpus[index];
  facts.pcie_generation = nvml.pcie_generation;
  facts.pcie_width = nvml.pcie_width;
  facts.link_rate = nvml.links.rate;
  facts.links_to_switch = nvml.links.to_switch;
  facts.links_to.assign(gpus.size(), 0);
  for (const std::string& bus_id : nvml.links.gpus)
    for (std::size_t peer = 0; peer < gpus.size(); ++peer)
      if (gpus[peer].bus_id == bus_id) ++facts.links_to[peer];
}

Facts ask_all() {
  const DriverLibrary& library = DriverLibrary::get();
  Facts facts;
  std::vector<std::string> bus_ids;
  for (int gpu = 0; gpu < library.gpus; ++gpu) {
    facts.gpus.push_back(cuda_facts(library.functions, gpu, library.gpus));
    bus_ids.push_back(facts.gpus.back().bus_id);
  }
  const NvmlAnswer nvml = ask_nvml(bus_ids);
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) add_nvml(nvml.gpus[i], facts.gpus, i);
  facts.driver_version = nvml.driver_version;
  if (facts.driver_version.empty())
    facts.driver_version =
        fmt::format("CUDA {}.{}", library.version / 1000, library.version % 1000 / 10);
  return facts;
}

// As a visible one, as far as NVML says; the first visible one's number of copy engines.
GpuFacts hidden_facts(const NvmlGpu& gpu, int number) {
  GpuFacts facts;
  facts.model = gpu.model;
  facts.bus_id = gpu.bus_id;
  facts.uuid = gpu.uuid;
  facts.number = number;
  facts.memory = gpu.memory;
  facts.numa_node = numa_node_of(gpu.bus_id);
  facts.copy_engines = polypath::cuda::facts().gpus.front().copy_engines;
  return facts;
}

// What CUDA says of those that it shows, else what NVML says.
bool reaches(const GpuFacts& from, const GpuFacts& to) {
  if (from.number == to.number) return false;
  if (!is_visible(from.number) || !is_visible(to.number))
    return reaches_by_nvml(from.bus_id, to.bus_id);
  return facts_of(from.number).reaches[static_cast<std::size_t>(to.number)];
}

std::vector<GpuFacts> find_all() {
  const std::vector<GpuFacts>& visible = facts().gpus;
  std::vector<GpuFacts> all;
  std::vector<std::string> bus_ids;
  auto next_hidden = static_cast<int>(visible.size());
  for (const NvmlGpu& gpu : gpus_of_nvml()) {
    const auto found = std::ranges::find(visible, gpu.bus_id, &GpuFacts::bus_id);
    all.push_back(found != visible.end() ? *found : hidden_facts(gpu, next_hidden++));
    bus_ids.push_back(gpu.bus_id);
  }
  const auto seen = all.size() + visible.size() - static_cast<std::size_t>(next_hidden);
  if (seen != visible.size() || all.size() > kMostGpus) return visible;
  const NvmlAnswer nvml = ask_nvml(bus_ids);
  for (std::size_t i = 0; i < all.size(); ++i) {
    add_nvml(nvml.gpus[i], all, i);
    all[i].reaches.clear();
    for (const GpuFacts& other : all) all[i].reaches.push_back(reaches(all[i], other));
  }
  return all;
}

}  // namespace

std::string text_of(const GpuUuid& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i == 0 || (i >= 4 && i <= 10 && i % 2 == 0) ? "-" : "",
                        uuid.bytes[i]);
  return text;
}

bool is_visible(int gpu) { return gpu < DriverLibrary::get().gpus; }

const std::vector<GpuFacts>& all_gpus() {
  static const auto& of_process = *new std::vector<GpuFacts>(find_all());
  return of_process;
}

const GpuFacts& facts_of(int gpu) {
  if (is_visible(gpu)) return facts().gpus.at(static_cast<std::size_t>(gpu));
  const auto found = std::ranges::find(all_gpus(), gpu, &GpuFacts::number);
  if (found != all_gpus().end()) return *found;
  fail(ErrorCode::internal, fmt::format("GPU {} is unknown", gpu), "the computer has no such one");
}

// Two GPUs' NVLinks take NVML 30 ms (H200, driver 580).
const Facts& facts() {
  static const auto& of_process = *new Facts(ask_all());
  return of_process;
}

}  // namespace polypath::cuda
