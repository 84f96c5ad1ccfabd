#include "driver/cuda/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace polypath::cuda {
namespace {

using NvmlDevice = struct OpaqueNvmlDevice*;

// nvmlPciInfo_t
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

// nvmlProcessInfo_v2_t
struct ProcessInfo {
  unsigned process;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

// nvmlMemory_t
struct MemoryInUse {
  unsigned long long total, free, used;
};

constexpr std::size_t kMostProcesses = 64;  // more than that are not told apart
constexpr int kInsufficientSize = 7;        // NVML_ERROR_INSUFFICIENT_SIZE
constexpr unsigned kMostLinks = 18;
constexpr unsigned kRemoteGpu = 0, kRemoteSwitch = 2, kRemoteUnknown = 255;

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    const bool complete = resolve(init, "nvmlInit_v2") &&
                          resolve(driver_version, "nvmlSystemGetDriverVersion") &&
                          resolve(by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2") &&
                          resolve(pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration") &&
                          resolve(pcie_width, "nvmlDeviceGetMaxPcieLinkWidth") &&
                          resolve(link_state, "nvmlDeviceGetNvLinkState") &&
                          resolve(link_version, "nvmlDeviceGetNvLinkVersion") &&
                          resolve(link_remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    resolve(link_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");  // CUDA 11.4 on
    resolve(processes, "nvmlDeviceGetComputeRunningProcesses_v3");     // CUDA 11.6 on
    shows_all = resolve_for_all_gpus();
    usable = complete && init() == 0;
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() = delete;

  // Never closed: that takes 17 ms, to open it 4 to 13 (results/h100x2/first_second.json).
  static const Nvml& of_process() {
    static const Nvml& nvml = *new Nvml;
    return nvml;
  }

  [[nodiscard]] NvmlDevice find(const std::string& bus_id) const {
    NvmlDevice device = nullptr;
    return usable && by_bus_id(bus_id.c_str(), &device) == 0 ? device : nullptr;
  }

  bool usable = false;
  bool shows_all = false;
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, NvmlDevice*) = nullptr;
  int (*pci_info)(NvmlDevice, PciInfo*) = nullptr;
  int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory)(NvmlDevice, MemoryInUse*) = nullptr;
  int (*peer_status)(NvmlDevice, NvmlDevice, int which, int* status) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*by_bus_id)(const char*, NvmlDevice*) = nullptr;
  int (*pcie_generation)(NvmlDevice, unsigned*) = nullptr;
  int (*pcie_width)(NvmlDevice, unsigned*) = nullptr;
  int (*link_state)(NvmlDevice, unsigned, int*) = nullptr;
  int (*link_version)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*link_remote)(NvmlDevice, unsigned, PciInfo*) = nullptr;
  int (*link_remote_type)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*processes)(NvmlDevice, unsigned*, ProcessInfo*) = nullptr;

 private:
  bool resolve_for_all_gpus() {
    return resolve(count, "nvmlDeviceGetCount_v2") &&
           resolve(by_index, "nvmlDeviceGetHandleByIndex_v2") &&
           resolve(pci_info, "nvmlDeviceGetPciInfo_v3") && resolve(uuid, "nvmlDeviceGetUUID") &&
           resolve(name, "nvmlDeviceGetName") && resolve(memory, "nvmlDeviceGetMemoryInfo") &&
           resolve(peer_status, "nvmlDeviceGetP2PStatus");
  }
  template <class Function>
  bool resolve(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(library_, symbol));
    return function != nullptr;
  }

  void* library_;
};

// Bits per second of a lane times lanes, per direction: NVLink 1 to 5 (NVIDIA's datasheets). NVML
// counts versions 1, 2, 2.2, 3, 3.1, 4, 5.
BytesPerSecond rate_of(unsigned version) {
  constexpr std::array kGigabytes = {0.0, 20.0, 25.0, 25.0, 25.0, 25.0, 25.0, 50.0};
  return {kGigabytes[std::min<std::size_t>(version, kGigabytes.size() - 1)] * 1e9};
}

// CUDA writes four digits of the domain, NVML eight.
std::string short_bus_id(const char* text) {
  std::string id = text;
  if (id.find(':') == 8) id = id.substr(4);
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return std::tolower(c); });
  return id;
}

void add_link(const Nvml& nvml, NvmlDevice device, unsigned link, NvLinks& links) {
  int active = 0;
  if (nvml.link_state(device, link, &active) != 0 || active == 0) return;
  unsigned version = 0, type = kRemoteUnknown;
  if (nvml.link_version(device, link, &version) == 0) links.rate = rate_of(version);
  PciInfo remote{};
  const bool known = nvml.link_remote(device, link, &remote) == 0;
  if (nvml.link_remote_type == nullptr || nvml.link_remote_type(device, link, &type) != 0)
    type = kRemoteUnknown;
  if (type == kRemoteGpu || (type == kRemoteUnknown && known))
    links.gpus.push_back(short_bus_id(remote.bus_id));
  if (type == kRemoteSwitch) ++links.to_switch;
}

NvmlFacts facts_by_nvml(const Nvml& nvml, const std::string& bus_id) {
  NvmlFacts facts;
  const NvmlDevice device = nvml.find(bus_id);
  if (device == nullptr) return facts;
  unsigned generation = 0, width = 0;
  if (nvml.pcie_generation(device, &generation) == 0)
    facts.pcie_generation = static_cast<int>(generation);
  if (nvml.pcie_width(device, &width) == 0) facts.pcie_width = static_cast<int>(width);
  for (unsigned link = 0; link < kMostLinks; ++link) add_link(nvml, device, link, facts.links);
  return facts;
}

}  // namespace

NvmlAnswer ask_nvml(const std::vector<std::string>& bus_ids) {
  NvmlAnswer answer;
  answer.gpus.resize(bus_ids.size());
  const Nvml& nvml = Nvml::of_process();
  if (!nvml.usable) return answer;
  for (std::size_t i = 0; i < bus_ids.size(); ++i) answer.gpus[i] = facts_by_nvml(nvml, bus_ids[i]);
  std::array<char, 96> text{};
  if (nvml.driver_version(text.data(), text.size()) == 0) answer.driver_version = text.data();
  return answer;
}

std::vector<NvmlGpu> gpus_of_nvml() {
  const Nvml& nvml = Nvml::of_process();
  unsigned count = 0;
  if (!nvml.usable || !nvml.shows_all || nvml.count(&count) != 0) return {};
  std::vector<NvmlGpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    NvmlDevice device = nullptr;
    PciInfo pci{};
    std::array<char, 96> uuid{}, name{};
    MemoryInUse memory{};
    if (nvml.by_index(index, &device) != 0 || nvml.pci_info(device, &pci) != 0 ||
        nvml.uuid(device, uuid.data(), uuid.size()) != 0)
      continue;  // one that this process may not use
    (void)nvml.name(device, name.data(), name.size());
    (void)nvml.memory(device, &memory);
    gpus.push_back({short_bus_id(pci.bus_id), uuid.data(), name.data(), {memory.total}});
  }
  std::ranges::sort(gpus, {}, &NvmlGpu::bus_id);
  return gpus;
}

bool reaches_by_nvml(const std::string& from, const std::string& to) {
  constexpr int kRead = 0, kWrite = 1;  // nvmlGpuP2PCapsIndex_t
  const Nvml& nvml = Nvml::of_process();
  NvmlDevice reader = nvml.find(from), owner = nvml.find(to);
  if (reader == nullptr || owner == nullptr || !nvml.shows_all) return false;
  for (const int which : {kRead, kWrite}) {
    int status = -1;
    if (nvml.peer_status(reader, owner, which, &status) != 0 || status != 0) return false;
  }
  return true;
}

std::set<unsigned> processes_on(const std::string& bus_id) {
  const Nvml& nvml = Nvml::of_process();
  const NvmlDevice device = nvml.find(bus_id);
  if (device == nullptr || nvml.processes == nullptr) return {};
  std::array<ProcessInfo, kMostProcesses> found{};
  auto count = static_cast<unsigned>(found.size());
  const int status = nvml.processes(device, &count, found.data());
  std::set<unsigned> processes;
  if (status == kInsufficientSize) return {0, 1};  // whichever they are, there are others
  if (status != 0) return processes;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, found.size()); ++i)
    processes.insert(found[i].process);
  return processes;
}

}  // namespace polypath::cuda
