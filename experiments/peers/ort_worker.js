// ONNX Runtime's side: ort_worker.js MODULES MODEL.onnx BATCH THREADS speaks workers.py's line protocol;
// ort_worker.js MODULES MODEL.onnx infer INPUT OUTPUT B C H W writes the output for one input, both raw
// little-endian floats.
// MODULES is the node_modules folder that onnxruntime-node was installed into.
//
// The native binding is called directly: the public run() does the same after a turn of the event loop, which would cost
// small models a fifth of their speed and says nothing about ONNX Runtime. The output goes to memory that is allocated once.
"use strict";
const fs = require("fs");
const path = require("path");
const readline = require("readline");

const [modules, model, batchOrInfer, ...rest] = process.argv.slice(2);
const {Tensor} = require(path.join(modules, "onnxruntime-common"));
const {binding, initOrt} = require(path.join(modules, "onnxruntime-node", "dist", "binding.js"));

function open(threads) {
  initOrt();
  const session = new binding.InferenceSession();
  session.loadModel(model, {
    graphOptimizationLevel: "all", executionMode: "sequential", intraOpNumThreads: threads, interOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  return session;
}

function feedsOf(session, dims, fill) {
  const data = new Float32Array(dims.reduce((a, b) => a * b));
  fill(data);
  return {[session.inputMetadata[0].name]: new Tensor("float32", data, dims)};
}

// Box-Muller over a multiplicative generator: the values only have to be ordinary.
function fillNormal(data) {
  let state = 1;
  const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647;
  for (let i = 0; i < data.length; ++i) {
    data[i] = Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  }
}

function infer(inputFile, outputFile, dims) {
  const session = open(1);
  const bytes = fs.readFileSync(inputFile);
  const feeds = feedsOf(session, dims, (data) => Buffer.from(data.buffer).set(bytes));
  const output = session.run(feeds, {[session.outputMetadata[0].name]: null}, {});
  const values = Object.values(output)[0].data;
  fs.writeFileSync(outputFile, Buffer.from(values.buffer, values.byteOffset, values.byteLength));
}

function serve(batch, threads) {
  const reply = (object) => fs.writeSync(1, JSON.stringify(object) + "\n");
  const runtimeKib = Math.round(process.memoryUsage.rss() / 1024);
  const session = open(threads);
  const dims = session.inputMetadata[0].shape.map((d) => (d > 0 ? d : batch));  // -1: the batch.
  const feeds = feedsOf(session, dims, fillNormal);
  const name = session.outputMetadata[0].name;
  const fetches = {[name]: session.run(feeds, {[name]: null}, {})[name]};
  let seconds = 0;
  const runFor = (limit) => {
    const cpu = process.cpuUsage();
    const start = process.hrtime.bigint();
    let runs = 0;
    do {
      session.run(feeds, fetches, {});
      ++runs;
      seconds = Number(process.hrtime.bigint() - start) * 1e-9;
    } while (seconds < limit);
    const used = process.cpuUsage(cpu);
    return {images: runs * batch, seconds, cpu_seconds: (used.user + used.system) * 1e-6};
  };
  const warm = runFor(0.2);
  reply({ready: true, seconds_per_run: warm.seconds / (warm.images / batch), runtime_kib: runtimeKib, variant: ""});
  readline.createInterface({input: process.stdin}).on("line", (line) => {
    const [command, argument] = line.split(" ");
    if (command !== "run") throw new Error(`unknown command: ${line}`);
    reply(runFor(Number(argument)));
  });
}

if (batchOrInfer === "infer") {
  infer(rest[0], rest[1], rest.slice(2).map(Number));
} else {
  serve(Number(batchOrInfer), Number(rest[0]));
}
