// Writes a network as a Python file to read, run and edit: one class with a line for each layer,
// and a function that loads the weights from the .pt file beside it.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "export/formats.h"
#include "export/json_text.h"
#include "export/metadata.h"
#include "export/pytorch_forward.h"
#include "export/pytorch_names.h"

namespace detol::inline exporting {
namespace {

using Texts = std::vector<std::string>;

constexpr std::size_t kWidth = 99;

// Returns `start` and the items, with commas between them, in lines that are indented by four.
std::string wrapped(std::string start, const Texts& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : "");
    if (start.size() + 1 + item.size() > kWidth && !start.ends_with('[')) {
      text += start + '\n';
      start = "   ";
    }
    start += (start.ends_with('[') ? "" : " ") + item;
  }
  return text + start;
}

// JSON's texts and numbers are Python's, too.
template <typename Plain>
std::string literal(const Plain& value) {
  return compact(nlohmann::json(value));
}

// Returns the text for a docstring, where quotes and backslashes are escaped.
std::string documented(const std::string& text) {
  const std::string quoted = literal(text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string constant(const char* name, const Texts& literals) {
  return wrapped(fmt::format("{} = [", name), literals) + "]\n";
}

template <typename Number>
Texts literals_of(const std::vector<Number>& numbers) {
  Texts texts;
  for (const Number number : numbers) texts.push_back(fmt::format("{:#}", number));
  return texts;
}

Texts literals_of(const std::vector<std::string>& names) {
  Texts texts;
  for (const std::string& name : names) texts.push_back(literal(name));
  return texts;
}

std::string plain(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return documented(*text);
  return std::visit([](const auto& held) { return literal(held); }, value);
}

std::string batch_of(const Model& model, std::string_view count) {
  const Shape& input = model.network.input_shape();
  if (reads_vectors(model.network)) return fmt::format("{}, {}", count, input.channels);
  return fmt::format("{}, {}, {}, {}", count, input.channels, input.height, input.width);
}

// Returns a line of the docstring, or several; none without items.
std::string facts(const char* what, const Texts& items) {
  return items.empty() ? "" : wrapped(fmt::format("{}:", what), items) + "\n";
}

// Returns where the weights come from: properties, hyperparameters, metrics.
std::string origin_of(const Model& model) {
  Texts properties, parameters, metrics;
  for (const auto& [key, value] : model.properties)
    properties.push_back(documented(key) + " " + documented(value));
  for (const auto& [name, value] : model.parameters)
    parameters.push_back(documented(name) + " = " + plain(value));
  for (const Metric& metric : model.metrics)
    metrics.push_back(fmt::format("{} = {:.6g}", documented(metric.name), metric.value));
  return facts("origin", properties) + facts("hyperparameters", parameters) +
         facts("metrics", metrics);
}

bool is_trained(const Model& model) {
  return !model.weights.empty();
}

std::string docstring_of(const Model& model) {
  constexpr std::string_view kForm = R"("""A {} network, found by detol {}.

input: {}, here ({}); the normalisation is inside
output: {}, here (N, {})
{}{}
    model = {}
    {} = model(inputs)
"""
)";
  const std::string_view making =
      is_trained(model) ? "load()           # the weights are in the .pt file beside this one"
                        : "Model()          # with initial weights of PyTorch, to train";
  const std::string_view meaning = input_meaning(model);
  return fmt::format(
      kForm, row_of(model.task).name, DETOL_VERSION, meaning.substr(0, meaning.find(", N x ")),
      batch_of(model, "N"), output_meaning(model), model.network.output().shape.elements(),
      model.class_names.empty() ? "" : "classes: CLASSES, in the order of the outputs\n",
      origin_of(model), making, output_name(model));
}

constexpr std::string_view kImports = R"(
import torch
from torch import nn

)";

// The channels of a layer's input are queries, keys and values, of one head after the other.
constexpr std::string_view kAttention = R"(
class Attention(nn.Module):
    """Multi-head attention over the positions of images or sequences."""

    def __init__(self, heads, key_heads, causal=False, rotary=False):
        super().__init__()
        self.heads, self.key_heads = heads, key_heads
        self.causal, self.rotary = causal, rotary

    def forward(self, x):
        parts = self.heads + 2 * self.key_heads
        rows = x.flatten(2).unflatten(1, (parts, -1)).transpose(2, 3)
        q, k, v = rows.split([self.heads, self.key_heads, self.key_heads], 1)
        if self.rotary:
            q, k = self.turned(q), self.turned(k)
        k, v = (one.repeat_interleave(self.heads // self.key_heads, 1) for one in (k, v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return y.transpose(2, 3).flatten(1, 2).unflatten(2, x.shape[2:])

    @staticmethod
    def turned(x):
        half = x.shape[-1] // 2
        rates = 10000.0 ** (-torch.arange(half, dtype=torch.float64, device=x.device) / half)
        angles = torch.arange(x.shape[-2], device=x.device)[:, None] * rates
        cosines, sines = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        left, right = x[..., :half], x[..., half:]
        return torch.cat([left * cosines - right * sines, right * cosines + left * sines], -1)

)";

bool has_attention(const Model& model) {
  return std::ranges::any_of(model.network.nodes(), [](const Node& node) {
    return node.layer.kind == LayerKind::kAttention;
  });
}

// Returns a buffer of doubles that is a constant of the source, not of the weights' file.
std::string buffer(const char* name, const char* constant, const char* shape) {
  return fmt::format(
      "        self.register_buffer(\"{}\", torch.tensor({}, dtype=torch.float64){}, "
      "persistent=False)\n",
      name, constant, shape);
}

// Returns the code with the offsets of inputs and targets, if there are any.
TorchCode with_offsets(TorchCode code, const Model& model, const char* shape) {
  constexpr std::string_view kReturn = "        return ";
  std::string buffers;
  if (has_input_offsets(model)) {
    buffers += buffer("offsets", "OFFSETS", shape);
    code.forward.insert(0, "        inputs = (inputs.double() - self.offsets).float()\n");
  }
  if (!model.offsets.targets.empty()) {
    buffers += buffer("target_offsets", "TARGET_OFFSETS", "");
    code.forward.insert(code.forward.rfind(kReturn) + kReturn.size(), "self.target_offsets + ");
  }
  code.init.insert(0, buffers);
  return code;
}

std::string class_of(const Model& model) {
  constexpr std::string_view kForm = R"(

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor(MEAN){0})
        self.register_buffer("deviation", torch.tensor(DEVIATION){0})
{1}
    def forward(self, inputs):
{2})";
  const char* shape = reads_vectors(model.network) ? "" : ".reshape(-1, 1, 1)";
  const TorchCode code = with_offsets(torch_code(model.network), model, shape);
  return fmt::format(kForm, shape, code.init, code.forward);
}

std::string loading_of(const Model& model) {
  constexpr std::string_view kForm = R"(

def load(weights=pathlib.Path(__file__).with_suffix(".pt")):
    """Returns the trained model, ready to predict."""
    model = Model()
    model.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    return model.eval()


if __name__ == "__main__":
    with torch.no_grad():
        print(load()(torch.zeros({})))
)";
  return fmt::format(kForm, batch_of(model, "1"));
}

// Returns the number of the first line that differs.
std::size_t first_difference(std::string_view text, std::string_view other) {
  const auto [at, unused] = std::mismatch(text.begin(), text.end(), other.begin(), other.end());
  return static_cast<std::size_t>(1 + std::count(text.begin(), at, '\n'));
}

}  // namespace

Result<std::string> pytorch_source(const Model& model) {
  if (!model.shares.empty())
    return fail(ErrorCode::kExport,
                "an ensemble is not written for PyTorch; take --to onnx or safetensors");
  std::string text = docstring_of(model);
  if (is_trained(model)) text += "\nimport pathlib\n";
  text += kImports;
  if (!model.class_names.empty()) text += constant("CLASSES", literals_of(model.class_names));
  text += constant("MEAN", literals_of(model.mean));
  text += constant("DEVIATION", literals_of(model.deviation));
  if (has_input_offsets(model)) text += constant("OFFSETS", literals_of(model.offsets.inputs));
  if (!model.offsets.targets.empty())
    text += constant("TARGET_OFFSETS", literals_of(model.offsets.targets));
  if (has_attention(model)) text += kAttention;
  return text + class_of(model) + (is_trained(model) ? loading_of(model) : "");
}

Result<void> compare_pytorch_source(std::string_view bytes, const Model& model) {
  DETOL_ASSIGN(const std::string expected, pytorch_source(model));
  if (bytes == expected) return {};
  return fail(ErrorCode::kExport,
              fmt::format("line {} is not the model's", first_difference(expected, bytes)));
}

}  // namespace detol::inline exporting
