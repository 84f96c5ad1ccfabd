#include "machine/memory_bandwidth.h"

#include <array>
#include <string_view>

namespace polypath {
namespace {

struct Sheet {
  std::string_view model;  ///< what Place::model begins with, behind the maker's name
  BytesPerSecond bandwidth;
  const char* source;
};

constexpr std::array kSheets = {
    Sheet{"V100-SXM2", 900_GBps, "NVIDIA Tesla V100 data sheet, 2018: 900 GB/s"},
    Sheet{"A100-SXM4-40GB", 1555_GBps, "NVIDIA A100 data sheet, 2021: 1555 GB/s"},
    Sheet{"A100 PCIe 40GB", 1555_GBps, "NVIDIA A100 data sheet, 2021: 1555 GB/s"},
    Sheet{"RTX 4090", 1008_GBps, "NVIDIA Ada GPU architecture paper, 2022: 1008 GB/s"},
    Sheet{"H200", 4800_GBps, "NVIDIA H200 data sheet, 2024: 4.8 TB/s"},
};

std::string_view without_maker(std::string_view model) {
  constexpr std::string_view kMaker = "NVIDIA ";
  return model.starts_with(kMaker) ? model.substr(kMaker.size()) : model;
}

}  // namespace

MemoryBandwidth memory_bandwidth(const Place& gpu) {
  constexpr double kAccessesOfReduction = 3;
  for (const Sheet& sheet : kSheets)
    if (without_maker(gpu.model).starts_with(sheet.model)) return {sheet.bandwidth, sheet.source};
  return {{kAccessesOfReduction * gpu.reduction_bandwidth.value},
          "two reads and a write at the machine's reduction_bandwidth"};
}

}  // namespace polypath
