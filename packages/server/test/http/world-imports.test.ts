/** Imports of worlds over HTTP: files up to the limit, compressed or not, that are never held in memory completely. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type HttpResult, http } from '../support/http.ts'
import { adminPassword, startApp, type TestApp } from '../support/start-app.ts'

const MiB = 1024 ** 2
const path = '/control/v1/worlds/$actions/import'

let app: TestApp
let url: string
before(async () => {
  app = await startApp({ config: { importMebibytes: 80 } })
  url = (await app.listen()).url
})
after(() => app.close())

/** A seed of this many bytes, nearly all of them comments between rows. */
function aSeed(bytes: number): string {
  const line = `    # ${'x'.repeat(1000)}\n`
  return `extends: empty\nentities:\n${line.repeat(Math.ceil(bytes / line.length))}`
}

async function aForm(fields: Readonly<Record<string, string | Blob>>): Promise<{ body: Uint8Array; type: string }> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, value, 'world.yaml')
  const encoded = new Response(form)
  return { body: await encoded.bytes(), type: encoded.headers.get('content-type') as string }
}

async function imported(
  fields: Readonly<Record<string, string | Blob>>,
  encode?: { readonly name: string; readonly by: (body: Uint8Array) => Uint8Array },
): Promise<HttpResult> {
  const { body, type } = await aForm(fields)
  const sent = encode === undefined ? body : encode.by(body)
  const headers = { 'content-type': type, ...(encode === undefined ? {} : { 'content-encoding': encode.name }) }
  return http(url, path, { method: 'POST', body: sent, headers })
}

const nothingIsLeft = (): void =>
  assert.deepEqual(
    readdirSync(join(app.folder, 'worlds')).filter((name) => name.startsWith('.')),
    [],
  )

test('a seed of 70 MiB is accepted as a file, and stored unchanged with its world', async () => {
  const seed = aSeed(70 * MiB)
  const created = await imported({ name: 'long', seed: new Blob([seed]) })
  assert.equal(created.status, 201, created.text.slice(0, 1000))
  assert.equal(readFileSync(join(app.folder, 'worlds', 'long', 'seed.yaml'), 'utf8').length, seed.length)
  nothingIsLeft()
})

test('a seed sent as a text field is the same: its line endings are preserved', async () => {
  const seed = 'extends: empty\ncategories:\n  - { key: Team, value: blue }\n'
  assert.equal((await imported({ seed, name: 'text' })).status, 201)
  assert.equal(readFileSync(join(app.folder, 'worlds', 'text', 'seed.yaml'), 'utf8'), seed)
})

test('an export can be imported again, also compressed', async () => {
  const exported = await http(url, '/control/v1/worlds/text/seed')
  assert.equal(exported.status, 200)
  const gzip = { name: 'gzip', by: gzipSync }
  const created = await imported({ name: 'again', seed: new Blob([exported.text]) }, gzip)
  assert.equal(created.status, 201, created.text)
  const filter = `$filter=${encodeURIComponent("key eq 'Team' and value eq 'blue'")}`
  const read = await http(url, `/api/platform/v4.3/config/categories?${filter}`, { headers: { 'x-world': 'again' } })
  assert.equal(read.json.metadata.totalAvailableResults, 1)
})

test('a compressed file is decompressed; a truncated or damaged file is refused', async () => {
  const seed = `extends: empty\ncategories:\n${Array.from({ length: 900 }, (_, index) => `  - { key: Many, value: v${index} }\n`).join('')}`
  const file = gzipSync(seed)
  const created = await imported({ name: 'zipped', seed: new Blob([file]) })
  assert.equal(created.status, 201, created.text)
  assert.equal(readFileSync(join(app.folder, 'worlds', 'zipped', 'seed.yaml'), 'utf8'), seed)
  const damaged = Buffer.from(file)
  damaged.fill(0, file.length >> 1)
  for (const broken of [file.subarray(0, file.length - 10), damaged]) {
    const refused = await imported({ name: 'broken', seed: new Blob([broken]) })
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.json.data.error[0].message, /the part "seed" begins as one that is compressed \(gzip\)/)
    nothingIsLeft()
  }
})

test('the limit counts decompressed bytes: 413 in the envelope, and no file is left behind', async () => {
  const gzip = { name: 'gzip', by: gzipSync }
  for (const encode of [undefined, gzip]) {
    const refused = await imported({ name: 'beyond', seed: new Blob([aSeed(81 * MiB)]) }, encode)
    assert.equal(refused.status, 413, refused.text)
    assert.match(refused.json.data.error[0].message, /83886080/)
    nothingIsLeft()
  }
  const file = await imported({ name: 'beyond', seed: new Blob([gzipSync(aSeed(81 * MiB))]) })
  assert.equal(file.status, 413, file.text)
  nothingIsLeft()
  assert.equal((await http(url, '/control/v1/worlds/beyond')).status, 404)
})

test('a body that does not match its Content-Encoding, or has an unsupported one, is refused in the envelope', async () => {
  const fields = { name: 'wrong', seed: new Blob(['extends: empty\n']) }
  const plain = await imported(fields, { name: 'gzip', by: (body) => body })
  assert.equal(plain.status, 400, plain.text)
  assert.match(plain.json.data.error[0].message, /not compressed as its Content-Encoding says/)
  const other = await imported(fields, { name: 'br', by: (body) => body })
  assert.equal(other.status, 415, other.text)
  nothingIsLeft()
})

test('a form that is truncated, repeats a part, or has none is 400, and no file is left behind', async () => {
  const { body, type } = await aForm({ name: 'cut', seed: new Blob(['extends: empty\n'.repeat(1000)]) })
  const send = (bytes: Uint8Array): Promise<HttpResult> =>
    http(url, path, { method: 'POST', body: bytes, headers: { 'content-type': type } })
  assert.equal((await send(body.subarray(0, body.length - 200))).status, 400)
  const boundary = type.split('boundary=')[1]
  const part = `--${boundary}\r\nContent-Disposition: form-data; name="seed"; filename="a.yaml"\r\n\r\nextends: empty\n\r\n`
  const twice = await send(Buffer.from(`${part}${part}--${boundary}--\r\n`))
  assert.equal(twice.status, 400, twice.text)
  assert.match(twice.text, /occurs twice/)
  const none = await imported({ name: 'none' })
  assert.equal(none.status, 400, none.text)
  assert.match(none.text, /seed/)
  nothingIsLeft()
})

test('a client that disconnects midway leaves no file behind', async () => {
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000000\r\n\r\n--x\r\nContent-Disposition: form-data; name="seed"; filename="a"\r\n\r\n${'# '.repeat(10_000)}`,
  )
  const place = join(app.folder, 'worlds')
  const incoming = (): boolean => existsSync(place) && readdirSync(place).some((name) => name.startsWith('.incoming-'))
  while (!incoming()) await new Promise(setImmediate)
  socket.destroy()
  while (incoming()) await new Promise(setImmediate)
})

test('a disk failure while the file is written is not reported as a fault of the form', async () => {
  const other = await startApp({ config: { seed: 'empty' }, logLevel: 'silent' })
  try {
    writeFileSync(join(other.folder, 'worlds'), 'no folder')
    const { body, type } = await aForm({ name: 'unkept', seed: new Blob(['extends: empty\n']) })
    const { url: at } = await other.listen()
    const refused = await http(at, path, { method: 'POST', body, headers: { 'content-type': type } })
    assert.equal(refused.status, 500, refused.text)
  } finally {
    await other.close()
  }
})
