// Inference with ONNX Runtime, batch after batch, with as many threads as cosched says: an example of a program whose
// pools are sized when they are made, so that a grant costs a new session.
//
//   node infer_onnx.js MODULES MODEL.onnx BATCH STEPS
//
// MODULES: the node_modules folder in which onnxruntime-node is (npm install onnxruntime-node).
"use strict";
const path = require("path");
const client = require(path.join(__dirname, "..", "..", "client", "cosched.js")).connect();

const [modules, model, batch, steps] = process.argv.slice(2);
const ort = require(path.join(modules, "onnxruntime-node"));

const open = (threads) =>
  ort.InferenceSession.create(model, {intraOpNumThreads: threads, interOpNumThreads: 1, executionMode: "sequential"});

async function main() {
  let threads = client.poll() || Number(process.env.OMP_NUM_THREADS || 1);
  let session = await open(threads);
  const size = Number(batch) * 3 * 224 * 224;
  const images = new ort.Tensor("float32", Float32Array.from({length: size}, (_, i) => (i % 255) / 255),
                                [Number(batch), 3, 224, 224]);
  for (let step = 0; step < Number(steps); ++step) {
    const granted = client.poll();
    if (granted > 0 && granted !== threads) {
      await session.release();
      session = await open(threads = granted);
    }
    await session.run({[session.inputNames[0]]: images});
    client.step(Number(batch));
    process.stdout.write(`step ${step + 1}\n`);
  }
}

main();
