#include "export/onnx_picture.h"

#include <fmt/format.h>

#include <numeric>
#include <set>

#include "export/onnx_constants.h"
#include "export/onnx_nodes.h"

namespace detol::inline exporting {
namespace {

constexpr float kHalf = 0.5f;

class PictureNodes : private OnnxNodes {
 public:
  PictureNodes(onnx::GraphProto& graph, const PictureInput& picture)
      : OnnxNodes(graph), form_(picture.form), is_from_files_(picture.is_from_files) {}

  std::string write(const std::string& input) {
    set_ints(add("Transpose", "picture.bytes", {input}), "perm", kToChannelsFirst);
    std::string pixels = cast("picture.stored", "picture.bytes", onnx::TensorProto::FLOAT);
    if (is_from_files_) pixels = colours(pixels);
    if (form_.size > 0) pixels = square(pixels);
    return op("Div", "picture.pixels", {pixels, floats("picture.white", {}, {255})});
  }

 private:
  std::string op(const char* type, const std::string& name, const Names& inputs) {
    add(type, name, inputs);
    return name;
  }

  std::string cast(const std::string& name, const std::string& input, int type) {
    set_int(add("Cast", name, {input}), "to", type);
    return name;
  }

  // Returns an integer constant without dimensions; each is added once.
  std::string whole(std::int64_t number) {
    std::string name = fmt::format("picture.{}", number);
    if (wholes_.insert(number).second) integers(name, {}, {number});
    return name;
  }

  std::string half() {
    if (!has_half_) floats("picture.half", {}, {kHalf});
    has_half_ = true;
    return "picture.half";
  }

  std::string rounded(const std::string& name, const std::string& input) {
    return op("Floor", name, {op("Add", name + ".raised", {input, half()})});
  }

  std::string gather(const std::string& name, const std::string& input, std::int64_t axis,
                     const Integers& which) {
    const auto count = static_cast<std::int64_t>(which.size());
    const std::string indices = integers(name + ".which", {count}, which);
    set_int(add("Gather", name, {input, indices}), "axis", axis);
    return name;
  }

  // Lays the picture on white, floor((c a + 255 (255 - a) + 127) / 255), and makes it grey if the
  // network is. Pixels without alpha get one of 255, behind all channels.
  std::string colours(const std::string& stored) {
    const std::string plane = gather("picture.plane", stored, 1, {0});
    const std::string opaque =
        op("Expand", "picture.opaque",
           {floats("picture.full", {}, {255}), op("Shape", "picture.plane.shape", {plane})});
    set_int(add("Concat", "picture.with_alpha", {stored, opaque}), "axis", 1);
    const std::string colour = gather("picture.colour", "picture.with_alpha", 1, {0, 1, 2});
    const std::string alpha = gather("picture.alpha", "picture.with_alpha", 1, {3});
    const std::string paper = op("Sub", "picture.paper",
                                 {floats("picture.paper.most", {}, {255 * 255 + 127}),
                                  op("Mul", "picture.paper.hidden", {alpha, "picture.full"})});
    const std::string sum =
        op("Add", "picture.blended", {op("Mul", "picture.seen", {colour, alpha}), paper});
    const std::string on_white =
        op("Floor", "picture.on_white", {op("Div", "picture.blend", {sum, "picture.full"})});
    return form_.channels == 1 ? grey(on_white) : on_white;
  }

  std::string grey(const std::string& colour) {
    constexpr float kScale = 1.0f / 65536;
    const std::string luma =
        floats("picture.luma", {1, 3, 1, 1}, {19595 * kScale, 38470 * kScale, 7471 * kScale});
    const std::string parts = op("Mul", "picture.luma.parts", {colour, luma});
    set_int(add("ReduceSum", "picture.luma.sum", {parts, integers("picture.luma.axis", {1}, {1})}),
            "keepdims", 1);
    return rounded("picture.grey", "picture.luma.sum");
  }

  // Multiplies by the weights across, then by those down, and rounds after each.
  std::string square(const std::string& pixels) {
    const std::string shape = op("Shape", "picture.shape", {pixels});
    const std::string height = gather("picture.height", shape, 0, {2});
    const std::string width = gather("picture.width", shape, 0, {3});
    if (form_.fit != PictureFit::kStretch)
      op(form_.fit == PictureFit::kCrop ? "Min" : "Max", "picture.fitted", {height, width});
    integers("picture.lines", {form_.size, 1}, lines());
    integers("picture.nothing", {form_.size, 1}, Integers(lines().size(), 0));
    const std::string across = weights("picture.across", width);
    const std::string down = weights("picture.down", height);
    set_ints(add("Transpose", "picture.across.turned", {across}), "perm", {1, 0});
    const std::string narrow =
        op("MatMul", "picture.narrow.sum", {pixels, "picture.across.turned"});
    const std::string rows = rounded("picture.narrow", narrow);
    return rounded("picture.square", op("MatMul", "picture.square.sum", {down, rows}));
  }

  Integers lines() const {
    Integers numbers(static_cast<std::size_t>(form_.size));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }

  // Returns the number of lines of a scaled side.
  std::string scaled(const std::string& at, const std::string& pixels) {
    if (form_.fit == PictureFit::kStretch) return whole(form_.size);
    const std::string twice =
        op("Mul", at + ".twice", {pixels, whole(std::int64_t{2} * form_.size)});
    const std::string raised = op("Add", at + ".raised", {twice, "picture.fitted"});
    const std::string divisor = op("Mul", at + ".divisor", {"picture.fitted", whole(2)});
    return op("Max", at + ".scaled", {op("Div", at + ".ratio", {raised, divisor}), whole(1)});
  }

  // Returns which lines of the scaled side are those of the square: size x 1.
  std::string lines_of(const std::string& at, const std::string& scaled) {
    const std::string size = whole(form_.size);
    if (form_.fit == PictureFit::kStretch) return "picture.lines";
    const bool crops = form_.fit == PictureFit::kCrop;
    const std::string spare =
        op("Sub", at + ".spare", crops ? Names{scaled, size} : Names{size, scaled});
    const std::string first = op("Div", at + ".first", {spare, whole(2)});
    return op(crops ? "Add" : "Sub", at + ".line", {"picture.lines", first});
  }

  // Returns 2 i + 1 times `factor`, of every line or pixel i.
  std::string centres(const std::string& at, const std::string& i, const std::string& factor) {
    const std::string odd =
        op("Add", at + ".odd", {op("Mul", at + ".even", {i, whole(2)}), whole(1)});
    return op("Mul", at, {odd, factor});
  }

  // Returns the heights of the triangles: size x pixels.
  std::string heights(const std::string& at, const std::string& pixels) {
    const std::string scale = scaled(at, pixels);
    const std::string line = lines_of(at, scale);
    const std::string count = op("Squeeze", at + ".count", {pixels});
    const std::string pixel = op("Range", at + ".pixel", {whole(0), count, whole(1)});
    const std::string distance =
        op("Abs", at + ".distance",
           {op("Sub", at + ".offset",
               {centres(at + ".pixels", pixel, scale), centres(at + ".centres", line, pixels)})});
    const std::string reach =
        op("Mul", at + ".reach", {op("Max", at + ".wider", {pixels, scale}), whole(2)});
    std::string height =
        op("Max", at + ".height", {op("Sub", at + ".under", {reach, distance}), whole(0)});
    if (form_.fit != PictureFit::kPad) return height;
    const std::string is_there = op("And", at + ".is_there",
                                    {op("GreaterOrEqual", at + ".is_behind", {line, whole(0)}),
                                     op("Less", at + ".is_before", {line, scale})});
    return op("Mul", at + ".height_there",
              {height, cast(at + ".there", is_there, onnx::TensorProto::INT64)});
  }

  // Returns the weights, of sum 1 in every line that is there: size x pixels.
  std::string weights(const std::string& at, const std::string& pixels) {
    const std::string height = heights(at, pixels);
    set_int(add("ReduceSum", at + ".sum", {height, integers(at + ".sum.axis", {1}, {1})}),
            "keepdims", 1);
    const std::string total = op("Max", at + ".total", {at + ".sum", whole(1)});
    const std::string sums = op("CumSum", at + ".sums", {height, whole(1)});
    const std::string raised =
        op("Add", at + ".share.raised",
           {op("Mul", at + ".share.of", {sums, whole(std::int64_t{1} << 17)}), total});
    const std::string shares =
        op("Div", at + ".share", {raised, op("Mul", at + ".total.twice", {total, whole(2)})});
    const std::string but_last =
        op("Slice", at + ".share.but_last",
           {shares, integers(at + ".from", {1}, {0}), integers(at + ".to", {1}, {-1}),
            integers(at + ".axis", {1}, {1})});
    set_int(add("Concat", at + ".share.before", {"picture.nothing", but_last}), "axis", 1);
    const std::string weight = op("Sub", at + ".whole", {shares, at + ".share.before"});
    return op("Mul", at + ".weight",
              {cast(at + ".float", weight, onnx::TensorProto::FLOAT),
               floats(at + ".scale", {}, {1.0f / 65536})});
  }

  const PictureForm form_;
  const bool is_from_files_;
  std::set<std::int64_t> wholes_;  // the constants that exist already
  bool has_half_ = false;
};

}  // namespace

void declare_picture_input(onnx::GraphProto& graph, const std::string& name,
                           const PictureInput& picture) {
  onnx::ValueInfoProto& info = *graph.add_input();
  info.set_name(name);
  onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::UINT8);
  const auto add = [&](const char* dimension, std::int64_t extent) {
    auto& added = *tensor.mutable_shape()->add_dim();
    if (extent > 0)
      added.set_dim_value(extent);
    else
      added.set_dim_param(dimension);
  };
  const bool is_any = picture.form.size > 0;
  add("N", 0);
  add("H", is_any ? 0 : picture.shape.height);
  add("W", is_any ? 0 : picture.shape.width);
  add("C", picture.is_from_files ? 0 : picture.shape.channels);
}

std::string add_picture_input(onnx::GraphProto& graph, const std::string& name,
                              const PictureInput& picture) {
  return PictureNodes(graph, picture).write(name);
}

}  // namespace detol::inline exporting
