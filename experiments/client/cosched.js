// cosched.py for Node.js: the client of a program that cosched runs with client = "library". Node maps no memory, so
// the page (cosched_page.h, version 1) is read and written through its descriptor.
//
//   const client = require("./cosched.js").connect();
//   …
//   const threads = client.poll();
//   if (threads > 0) session = open(threads);   // or whatever it takes
//   client.step(batch);
"use strict";
const fs = require("fs");

const MAGIC = 0x31656761706f63n, VERSION = 1, SIZE = 4096;
const AT = {grant: 16, threads: 24, process: 256, threadsNow: 260, followed: 264, followedAt: 272, steps: 280,
            images: 288, steppedAt: 312};

function read(fd, at, bytes) {
  const buffer = Buffer.alloc(bytes);
  fs.readSync(fd, buffer, 0, bytes, at);
  return bytes === 8 ? buffer.readBigUInt64LE() : buffer.readUInt32LE();
}

function write(fd, at, value, bytes = 8) {
  const buffer = Buffer.alloc(bytes);
  bytes === 8 ? buffer.writeBigUInt64LE(BigInt(value)) : buffer.writeUInt32LE(value);
  fs.writeSync(fd, buffer, 0, bytes, at);
}

const isPage = (fd) =>
  fs.fstatSync(fd).size === SIZE && read(fd, 0, 8) === MAGIC && read(fd, 8, 4) === VERSION;

function openPage() {
  const variable = process.env.COSCHED_CLIENT || "";
  const colon = variable.indexOf(":");
  if (colon < 1) return -1;
  for (const open of [() => Number(variable.slice(0, colon)), () => fs.openSync(variable.slice(colon + 1), "r+")]) {
    try {
      const fd = open();
      if (isPage(fd)) return fd;
    } catch (error) {
      // Closed on the way, or nobody's page: the other way, or none.
    }
  }
  return -1;
}

class Client {
  constructor(fd) {
    Object.assign(this, {fd, threads: 0, seen: 0n, unconfirmed: false, toldAt: 0n, steps: 0, images: 0});
    if (fd >= 0) write(fd, AT.process, process.pid, 4);
  }
  // How many threads to have from now on, if that has changed (at the first call: in any case); else 0.
  poll() {
    if (this.fd < 0) return 0;
    this.confirm();
    const grant = read(this.fd, AT.grant, 8);
    if (grant === this.seen || grant % 2n === 1n) return 0;
    const threads = read(this.fd, AT.threads, 4);
    if (read(this.fd, AT.grant, 8) !== grant || threads === 0) return 0;
    const changed = threads !== this.threads;
    Object.assign(this, {seen: grant, threads, unconfirmed: true, toldAt: process.hrtime.bigint()});
    if (!changed) this.confirm();
    return changed ? threads : 0;
  }
  // A step is done, of so many images.
  step(images = 0) {
    if (this.fd < 0) return;
    this.confirm();
    write(this.fd, AT.images, this.images += images);
    write(this.fd, AT.steppedAt, process.hrtime.bigint());
    write(this.fd, AT.steps, ++this.steps);
  }
  confirm() {
    if (!this.unconfirmed) return;
    this.unconfirmed = false;
    write(this.fd, AT.threadsNow, this.threads, 4);
    write(this.fd, AT.followedAt, this.toldAt);
    write(this.fd, AT.followed, this.seen);
  }
}

exports.connect = () => new Client(openPage());
