#include "nccl/choices_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "core/error.h"
#include "core/hash.h"
#include "core/ignore_errors.h"
#include "core/json_reader.json.h"
#include "core/json_text.json.h"
#include "core/log.h"
#include "machine/store.h"

namespace polypath::nccl {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kChoicesSchema = "polypath.nccl-choices/2";
constexpr std::size_t kMostSamples = 4096;
constexpr std::size_t kLongestText = 1 << 20;

Operation operation_of(const JsonField& field) {
  const std::string name = field.text(kLongestText);
  for (int i = 0; i < kOperations; ++i)
    if (name == name_of(static_cast<Operation>(i))) return static_cast<Operation>(i);
  field.reject("is no operation", name);
}

Seconds time_of(const JsonField& field) {
  const double time = field.number();
  if (!(time >= 0)) field.reject("is no time", "it must not be negative");
  return Seconds{time};
}

}  // namespace

std::string choices_to_json(const Choices& choices, const std::string& circumstances) {
  Json samples = Json::array();
  for (const auto& [of, all] : choices.samples())
    for (const Sample& sample : all)
      samples.push_back({{"operation", name_of(of.operation)},
                         {"float32_sum", of.is_usual_sum},
                         {"bytes", sample.message.value},
                         {"nccl_seconds", sample.real.value},
                         {"seconds", sample.ours.value}});
  return json_text({{"schema", kChoicesSchema},
                    {"circumstances", circumstances},
                    {"longest_bytes", choices.longest().value},
                    {"samples", std::move(samples)}}) +
         "\n";
}

Choices parse_choices(const std::string& text, const std::string& origin) {
  const JsonDocument document(
      text, {origin, ErrorCode::communicator, "Let all ranks run the same version."});
  if (document.root().at("schema").text(kLongestText) != kChoicesSchema)
    document.root().at("schema").reject("is another one",
                                        "it has to be " + std::string(kChoicesSchema));
  Choices choices;
  choices.end_at(Bytes{document.root().at("longest_bytes").count(0)});
  for (const JsonField& sample : document.root().at("samples").elements(kMostSamples))
    choices.add({operation_of(sample.at("operation")), sample.at("float32_sum").flag()},
                {Bytes{sample.at("bytes").count(1)}, time_of(sample.at("nccl_seconds")),
                 time_of(sample.at("seconds"))});
  return choices;
}

ChoicesFile::ChoicesFile(const std::string& circumstances) : circumstances_(circumstances) {
  ignore_errors([&] {
    path_ = cache_path(fmt::format("nccl-{:016x}.json", Hash().add(circumstances).value()));
  });
}

std::optional<Choices> ChoicesFile::read() const noexcept {
  std::optional<Choices> found;
  try {
    std::ifstream file(path_, std::ios::binary);
    if (path_.empty() || !file) return found;
    found = parse_choices({std::istreambuf_iterator<char>(file), {}}, path_);
  } catch (const std::exception& error) {
    log(LogLevel::info,
        std::string("what was measured beside NCCL cannot be read: ") + error.what());
  }
  return found;
}

void ChoicesFile::write(const Choices& choices) const noexcept {
  try {
    if (!path_.empty()) write_whole(path_, choices_to_json(choices, circumstances_));
  } catch (const std::exception& error) {
    log(LogLevel::info, std::string("what was measured beside NCCL is not kept: ") + error.what());
  }
}

}  // namespace polypath::nccl
