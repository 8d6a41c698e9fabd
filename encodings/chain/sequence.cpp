// The section `layers` of encoding `chain`: MetaQNN's space (Baker et al., 2017, "Designing Neural
// Network Architectures using Reinforcement Learning", ICLR, arXiv 1611.02167), where an agent
// chooses one whole layer after another until it chooses to end.
//
//   architecture.layers[0] conv_3x3_64, [1] max_pool_3x3_2, [2] dense_128, [3] end
//   -> conv 3x3 to 64 channels, pool 3x3 of stride 2, dense 128, softmax; choices from [4] on are
//      not expressed
//
//   conv_KxK_C       conv - bn - relu; without bn if `batch_norm` is false, as in the paper
//   max_pool_KxK_S   nothing where the image is smaller than the window
//   dense_N          dense - relu; images larger than 8 x 8, on which the paper has no dense
//                    layers, are averaged by global_avg_pool first
//   global_avg_pool  ends the sequence; the head pools, whatever its `op`
//   end              ends the sequence; the head is flatten_linear unless its `op` is given, also
//                    where all `depth` choices are layers
//   dropout          after every second layer; the i-th of n with probability i/n x `dropout`
//                    (0.5 in the paper)
//
// The rules are the paper's: no ending at the first layer, no pool after a pool, at most
// `max_dense` dense layers (2), and after a dense layer only dense or `end`. A word that breaks a
// rule is drawn again from those that may follow, so that uniform draws, repaired, are walks of the
// paper's random agent.

#include "encodings/chain/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "encodings/common/stem_and_head.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;
using enum FieldKind;

struct PoolRow {
  std::string_view name;
  std::int64_t kernel, stride;
};

constexpr std::array kPools = {
    PoolRow{"2x2_2", 2, 2}, PoolRow{"3x3_1", 3, 1}, PoolRow{"3x3_2", 3, 2}, PoolRow{"3x3_3", 3, 3},
    PoolRow{"4x4_2", 4, 2}, PoolRow{"4x4_4", 4, 4}, PoolRow{"5x5_2", 5, 2}, PoolRow{"5x5_3", 5, 3},
};
constexpr auto kPoolWords = [] {
  std::array<std::string_view, kPools.size()> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = kPools[i].name;
  return words;
}();

constexpr std::array kLayers = {
    Field{.key = "depth", .kind = kInt, .low = 1, .high = 256},
    Field{.key = "kernels", .kind = kInts, .low = 1, .high = 31, .odd = true},
    Field{.key = "channels", .kind = kInts, .low = 1, .high = 16384},
    Field{.key = "pools", .kind = kWords, .words = kPoolWords},
    Field{.key = "dense", .kind = kInts, .low = 1, .high = 16384},
    Field{.key = "max_dense", .kind = kInt, .low = 0, .high = 16},
    Field{.key = "batch_norm", .kind = kBool, .may_be_domain = true},
    Field{.key = "dropout", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 0.95},
};

enum class Kind { kConv, kPool, kDense, kGlobalAvgPool, kEnd };

// Word: one value of a choice, a whole layer.
struct Word {
  Kind kind = Kind::kEnd;
  std::int64_t size = 0;  // channels, or width
  std::int64_t kernel = 1, stride = 1;
  std::string text;

  bool ends() const { return kind == Kind::kGlobalAvgPool || kind == Kind::kEnd; }
};

struct Vocabulary {
  std::vector<Word> words;  // sorted: words that end the sequence come last
  std::size_t layers = 0;   // how many words do not end it
  std::int64_t max_dense = 2;
};

using Numbers = std::vector<std::int64_t>;

Vocabulary vocabulary_of(const json& section) {
  Vocabulary all;
  all.max_dense = section.value("max_dense", all.max_dense);
  for (std::int64_t channels : section.value("channels", Numbers{64, 128, 256, 512})) {
    for (std::int64_t kernel : section.value("kernels", Numbers{1, 3, 5})) {
      all.words.push_back(
          {Kind::kConv, channels, kernel, 1, fmt::format("conv_{0}x{0}_{1}", kernel, channels)});
    }
  }
  const auto pools = section.value("pools", std::vector<std::string>{"2x2_2", "3x3_2", "5x5_3"});
  for (const std::string& pool : pools) {
    const auto row = std::ranges::find(kPools, pool, &PoolRow::name);
    all.words.push_back({Kind::kPool, 0, row->kernel, row->stride, "max_pool_" + pool});
  }
  if (all.max_dense > 0) {
    for (std::int64_t width : section.value("dense", Numbers{512, 256, 128}))
      all.words.push_back({Kind::kDense, width, 1, 1, fmt::format("dense_{}", width)});
  }
  all.layers = all.words.size();
  all.words.push_back({Kind::kGlobalAvgPool, 0, 1, 1, "global_avg_pool"});
  all.words.push_back({Kind::kEnd, 0, 1, 1, "end"});
  return all;
}

// LayerSequence stores what the rules need to know of the layers so far.
class LayerSequence {
 public:
  explicit LayerSequence(const Vocabulary& all) : all_(all) {}

  bool is_over() const { return length_ > 0 && last_->ends(); }

  // Returns the rule that forbids the word as the next one; empty if it may follow.
  std::string_view violation(const Word& word) const {
    if (length_ == 0) return word.ends() ? "ends before the first layer" : "";
    if (word.kind == Kind::kPool && last_->kind == Kind::kPool) return "is a pool after a pool";
    if (word.kind == Kind::kDense && dense_ >= all_.max_dense) return "is one dense layer too many";
    const bool fits_dense = word.kind == Kind::kDense || word.kind == Kind::kEnd;
    if (last_->kind == Kind::kDense && !fits_dense) return "follows a dense layer";
    return "";
  }

  void append(const Word& word) {
    last_ = &word;
    ++length_;
    dense_ += word.kind == Kind::kDense ? 1 : 0;
  }

 private:
  const Vocabulary& all_;
  const Word* last_ = nullptr;
  int length_ = 0;
  std::int64_t dense_ = 0;
};

class LayerRules final : public ArchitectureRules {
 public:
  explicit LayerRules(Vocabulary all) : all_(std::move(all)) {}

  std::string violation(std::span<const double> codes) const override {
    LayerSequence sequence(all_);
    for (std::size_t i = 0; i < codes.size() && !sequence.is_over(); ++i) {
      const Word& word = word_of(codes[i]);
      if (const std::string_view broken = sequence.violation(word); !broken.empty())
        return fmt::format("architecture.layers[{}] {}", i, broken);
      sequence.append(word);
    }
    return "";
  }

  void repair(std::span<double> codes, Rng& rng) const override {
    LayerSequence sequence(all_);
    for (std::size_t i = 0; i < codes.size() && !sequence.is_over(); ++i) {
      if (!sequence.violation(word_of(codes[i])).empty())
        codes[i] = random_successor(sequence, rng);
      sequence.append(word_of(codes[i]));
    }
  }

  std::vector<bool> expressed(std::span<const double> codes) const override {
    std::vector<bool> counts;
    bool is_over = false;
    for (double code : codes) {
      counts.push_back(!is_over);
      is_over = is_over || word_of(code).ends();
    }
    return counts;
  }

 private:
  const Word& word_of(double code) const { return all_.words[static_cast<std::size_t>(code)]; }

  // Draws a word that may follow; one always exists: a layer at the start, `end` after it.
  double random_successor(const LayerSequence& sequence, Rng& rng) const {
    std::vector<double> codes;
    for (std::size_t code = 0; code < all_.words.size(); ++code) {
      if (sequence.violation(all_.words[code]).empty()) codes.push_back(static_cast<double>(code));
    }
    return codes[rng.below(codes.size())];
  }

  const Vocabulary all_;
};

Domain choice_of(std::string name, std::span<const Word> words) {
  Domain domain;
  domain.name = std::move(name);
  domain.kind = DomainKind::kCategorical;
  for (const Word& word : words) domain.choices.emplace_back(word.text);
  return domain;
}

// Returns the layers of a concrete section, up to the first that ends the sequence.
Result<std::vector<Word>> layers_of(const json& section) {
  const Vocabulary all = vocabulary_of(section);
  std::vector<Word> layers;
  for (const json& text : section.at("word")) {
    const auto word = std::ranges::find(all.words, text.get<std::string>(), &Word::text);
    if (word == all.words.end())
      return fail(ErrorCode::kInput,
                  "architecture.layers: unknown layer " + text.get<std::string>());
    layers.push_back(*word);
    if (word->ends()) break;
  }
  return layers;
}

bool fits_window(const Shape& image, std::int64_t kernel) {
  const bool is_sequence = image.height == 1;
  return image.width >= kernel && (image.height >= kernel || is_sequence);
}

void add_conv(Path& path, const Word& word, bool batch_norm) {
  path.conv({.channels = word.size, .kernel = word.kernel, .bias = !batch_norm}, "conv");
  if (batch_norm) path.batch_norm("bn");
  path.activate(Activation::kRelu, "act");
}

void add_dense(Path& path, const Word& word) {
  constexpr std::int64_t kLargest = 8;
  const Shape& image = path.shape();
  if (image.height > kLargest || image.width > kLargest)
    path.add({.kind = LayerKind::kGlobalAvgPool}, "pool");
  path.dense(word.size, true, "dense");
  path.activate(Activation::kRelu, "act");
}

void add_word(Path& path, const Word& word, bool batch_norm) {
  if (word.kind == Kind::kConv) add_conv(path, word, batch_norm);
  if (word.kind == Kind::kPool && fits_window(path.shape(), word.kernel))
    path.pool(LayerKind::kMaxPool, word.kernel, word.stride, "pool");
  if (word.kind == Kind::kDense) add_dense(path, word);
}

json head_of(const json& architecture, bool pools) {
  json head = architecture.value("head", json::object());
  if (pools) head["op"] = "global_avg_pool_linear";
  if (!head.contains("op")) head["op"] = "flatten_linear";
  return head;
}

}  // namespace

std::span<const Field> layers_fields() {
  return kLayers;
}

Result<Implied> imply_layers(json& architecture) {
  json& section = architecture.at("layers");
  const auto depth = section.value("depth", std::int64_t{10});
  Vocabulary all = vocabulary_of(section);
  Implied implied;
  section["word"] = json::array();
  for (std::int64_t i = 0; i < depth; ++i) {
    const std::string name = fmt::format("architecture.layers[{}]", i);
    // The first word is a layer.
    const std::size_t count = i == 0 ? all.layers : all.words.size();
    implied.choices.push_back(choice_of(name, std::span(all.words).first(count)));
    section["word"].push_back({{"$", name}});
  }
  implied.rules = std::make_shared<LayerRules>(std::move(all));
  return implied;
}

Result<Network> decode_layers(const json& architecture, const Task& task) {
  const json& section = architecture.at("layers");
  DETOL_ASSIGN(const std::vector<Word> words, layers_of(section));
  const bool batch_norm = section.value("batch_norm", true);
  const auto layers = std::ranges::count_if(words, [](const Word& word) { return !word.ends(); });
  const auto dropouts = layers / 2;
  NetworkBuilder builder(task.input);
  Path path(builder, builder.input(), "");
  add_stem(path, architecture.value("stem", json{{"op", "none"}}));
  for (std::int64_t i = 0; i < layers; ++i) {
    path.enter(fmt::format("layers.{}", i));
    add_word(path, words[static_cast<std::size_t>(i)], batch_norm);
    const auto pairs = (i + 1) / 2;
    if (i % 2 == 1)
      path.dropout(section.value("dropout", 0.0) * static_cast<double>(pairs) /
                   static_cast<double>(dropouts));
  }
  const bool pools = !words.empty() && words.back().kind == Kind::kGlobalAvgPool;
  add_head(path, head_of(architecture, pools), task.classes);
  return builder.build(path.end());
}

}  // namespace detol::inline encoding
