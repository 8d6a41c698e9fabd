#include "export/onnx_runtime.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/program.h"
#include "export/metadata.h"
#include "export/onnx_interface.h"
#include "export/onnx_table.h"
#include "export/work_folder.h"

namespace detol::inline exporting {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kNotInstalled = 77;  // the script's exit code

constexpr const char* kScript = R"py(
import json, sys
try:
    import numpy, onnxruntime
except ImportError:
    sys.exit(77)
folder, model = sys.argv[1:]
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
feeds = {}
for item in json.load(open(folder + "/inputs.json", encoding="utf-8")):
    if item["type"] == "string":
        values = numpy.array(item["values"], dtype=object)
    else:
        values = numpy.fromfile(folder + "/" + item["file"], item["type"])
    feeds[item["name"]] = values.reshape(item["shape"])
session.run([session.get_outputs()[-1].name], feeds)[0].astype("float64").tofile(folder + "/outputs")
)py";

// Inputs collects what the session is fed.
class Inputs {
 public:
  explicit Inputs(const fs::path& folder) : folder_(folder) {}

  template <typename Number>
  void add(const std::string& name, const char* type, const std::vector<std::int64_t>& shape,
           const std::vector<Number>& values) {
    const std::string file = fmt::format("input{}", items_.size());
    std::ofstream(folder_ / file, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(Number)));
    items_.push_back({{"name", name}, {"type", type}, {"shape", shape}, {"file", file}});
  }
  void add_texts(const std::string& name, const std::vector<std::string>& values) {
    items_.push_back(
        {{"name", name}, {"type", "string"}, {"shape", {values.size(), 1}}, {"values", values}});
  }
  void finish() const { std::ofstream(folder_ / "inputs.json") << items_; }

 private:
  const fs::path folder_;
  json items_ = json::array();
};

// Returns the bytes of the check's pixels, N x H x W x C.
std::vector<std::uint8_t> bytes_of(const CheckLogits& check, const Shape& shape) {
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  const auto channels = static_cast<std::size_t>(shape.channels);
  std::vector<std::uint8_t> bytes(check.pixels.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t image = i / (plane * channels), channel = i / plane % channels;
    bytes[(image * plane + i % plane) * channels + channel] =
        static_cast<std::uint8_t>(std::lround(check.pixels[i] * 255));
  }
  return bytes;
}

// Adds numbers of which the i-th has an offset, as floats or, as they are in the data, as doubles.
void add_numbers(const std::string& name, const std::vector<std::int64_t>& shape,
                 const std::vector<float>& numbers, bool are_doubles, const auto& offset_of,
                 Inputs& inputs) {
  if (!are_doubles) return inputs.add(name, "float32", shape, numbers);
  std::vector<double> exact(numbers.size());
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = double{numbers[i]} + offset_of(i);
  inputs.add(name, "float64", shape, exact);
}

// Adds the check's cells, as one input or one for each column.
void add_cells(const Model& model, const OnnxInterface& interface, Inputs& inputs) {
  const CheckLogits& check = *model.check;
  const std::vector<TableColumn>& columns = model.table->columns;
  if (interface.names.size() == 1 && columns[0].kind == ColumnKind::kNumber)
    return add_numbers(
        interface.names[0], {check.count, static_cast<std::int64_t>(columns.size())}, check.cells,
        takes_doubles(*model.table, model.offsets, 0),
        [&](std::size_t i) { return model.offsets.of_input(i % columns.size()); }, inputs);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::vector<float> numbers;
    std::vector<std::string> texts;
    for (std::size_t at = c; at < check.cells.size(); at += columns.size()) {
      numbers.push_back(check.cells[at]);
      if (columns[c].kind != ColumnKind::kCategory) continue;
      const auto code = static_cast<std::size_t>(check.cells[at]);
      const auto& known = columns[c].categories;
      texts.push_back(code < known.size() ? known[code] : "none of the known ones");
    }
    if (columns[c].kind == ColumnKind::kCategory)
      inputs.add_texts(interface.names[c], texts);
    else
      add_numbers(
          interface.names[c], {check.count, 1}, numbers,
          takes_doubles(*model.table, model.offsets, c),
          [&](std::size_t) { return model.offsets.of_input(c); }, inputs);
  }
}

void add_inputs_of(const Model& model, Inputs& inputs) {
  const OnnxInterface interface = onnx_interface_of(model);
  const CheckLogits& check = *model.check;
  const Shape& shape = interface.shape;
  if (model.table && !model.is_raw) {
    add_cells(model, interface, inputs);
  } else if (model.reads_pixels && !model.is_raw) {
    inputs.add(interface.names[0], "uint8",
               {check.count, shape.height, shape.width, shape.channels}, bytes_of(check, shape));
  } else {
    const auto plane = static_cast<std::size_t>(shape.height * shape.width);
    const auto channels = static_cast<std::size_t>(shape.channels);
    add_numbers(
        interface.names[0], {check.count, shape.channels, shape.height, shape.width}, check.pixels,
        has_input_offsets(model),
        [&](std::size_t i) { return model.offsets.of_input(i / plane % channels); }, inputs);
  }
  inputs.finish();
}

}  // namespace

Result<std::optional<std::vector<float>>> onnx_runtime_logits(const Model& model,
                                                              const fs::path& file) {
  const std::string python = find_program("python3");
  const WorkFolder folder;
  if (python.empty() || folder.path().empty()) return std::nullopt;
  Inputs inputs(folder.path());
  add_inputs_of(model, inputs);
  const std::string command =
      fmt::format("{} -c {} {} {} >{} 2>&1", shell_quoted(python), shell_quoted(kScript),
                  shell_quoted(folder.path().string()), shell_quoted(fs::absolute(file).string()),
                  shell_quoted((folder.path() / "messages").string()));
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is safe
  const int status = std::system(command.c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotInstalled) return std::nullopt;
  const auto outputs = read_file(folder.path() / "outputs");
  if (status != 0 || !outputs) {
    std::string why = read_file(folder.path() / "messages").value_or("");
    why.erase(why.find_last_not_of('\n') + 1);
    return fail(ErrorCode::kExport, "ONNX Runtime cannot run it: " +
                                        why.substr(why.find_last_of('\n') + 1).substr(0, 200));
  }
  std::vector<double> exact(outputs->size() / sizeof(double));
  std::memcpy(exact.data(), outputs->data(), exact.size() * sizeof(double));
  std::vector<float> logits;
  const auto width = static_cast<std::size_t>(outputs_of(model));
  for (std::size_t i = 0; i < exact.size(); ++i)
    logits.push_back(static_cast<float>(exact[i] - model.offsets.of_target(i % width)));
  return logits;
}

}  // namespace detol::inline exporting
