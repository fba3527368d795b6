/** The OpenAPI documents say where and in which media types the service answers: each operation is called as they say. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { contract, type Namespace } from '@hyperplane/contract'
import { control } from '@hyperplane/contract/control'
import { type HttpResult, http } from '../support/http.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

interface Described {
  readonly key: string
  readonly method: string
  /** As its document says: URL of the server and path. */
  readonly url: string
  readonly isBuilt: boolean
  readonly asks: Readonly<Record<string, any>> | undefined
  readonly answers: readonly string[]
}

const someId = '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11'
const named: Readonly<Record<string, string>> = { worldName: 'default', sequence: '1' }
const namespaces: readonly Namespace[] = [...contract, control]
let app: TestApp
let url: string
let described: readonly Described[]
before(async () => {
  app = await startApp({ config: { seed: 'tiny' } })
  url = (await app.listen()).url
  described = (
    await Promise.all(namespaces.flatMap(({ name, versions }) => versions.map((one) => read(name, one))))
  ).flat()
})
after(() => app.close())

const documentOf = (at: string, name: string, version: string, headers: Record<string, string> = {}) =>
  http(at, `/openapi/${name}/${version}.json`, { as: null, headers })

async function read(name: string, version: string): Promise<Described[]> {
  const { json } = await documentOf(url, name, version)
  const [{ url: server }] = json.servers
  return Object.entries<any>(json.paths).flatMap(([path, methods]) =>
    Object.entries<any>(methods).map(([method, operation]) => ({
      key: `${name} ${version} ${operation.operationId}`,
      method: method.toUpperCase(),
      url: server + path.replace(/\{(\w+)\}/g, (_, variable: string) => named[variable] ?? someId),
      isBuilt: operation['x-hyperplane-built'] !== false,
      asks: operation.requestBody?.content,
      answers: Object.entries<any>(operation.responses)
        .filter(([status]) => status.startsWith('2'))
        .flatMap(([, { content = {} }]) => Object.keys(content)),
    })),
  )
}

function call(
  operation: Described,
  query: string,
  headers: Record<string, string>,
  body?: string,
): Promise<HttpResult> {
  const { origin, pathname } = new URL(operation.url)
  return http(origin, pathname + query, { method: operation.method, headers, ...(body === undefined ? {} : { body }) })
}

test('every document describes operations, and every operation is found at the URL that its document gives', async () => {
  const operations = namespaces.flatMap((namespace) => namespace.operations)
  assert.ok(described.length >= operations.length, String(described.length))
  for (const operation of described) {
    const { origin } = new URL(operation.url)
    assert.equal(origin, `http://127.0.0.1:${new URL(url).port}`, operation.key)
    // An Accept that nothing answers is refused once the route is found, before anything happens.
    const answer = await call(operation, '', { accept: 'image/png' })
    assert.equal(answer.status, operation.isBuilt ? 406 : 501, `${operation.key}: ${answer.status} ${answer.text}`)
  }
})

test('every operation takes bodies in the media type of its document, and in no other', async () => {
  for (const operation of described) {
    if (operation.asks === undefined) continue
    const types = Object.keys(operation.asks)
    assert.equal(types.length, 1, operation.key)
    const isForm = types[0] === 'multipart/form-data'
    const type = isForm ? 'multipart/form-data; boundary=x' : (types[0] as string)
    // A field that there is not: refused when the body is understood, and not because of its type.
    const body = isForm ? '--x\r\nContent-Disposition: form-data; name="none"\r\n\r\n1\r\n--x--\r\n' : '{"none":1}'
    const taken = await call(operation, '', { 'content-type': type }, body)
    assert.equal(taken.status, 400, `${operation.key}: ${taken.status} ${taken.text}`)
    assert.ok(!/cannot be read/.test(taken.text), `${operation.key}: ${taken.text}`)
    const other = await call(
      operation,
      '',
      { 'content-type': isForm ? 'application/json' : 'multipart/form-data' },
      body,
    )
    assert.equal(other.status, 415, `${operation.key}: ${other.status} ${other.text}`)
  }
})

test('every operation accepts the media types that its document declares for answers', async () => {
  for (const operation of described.filter(({ isBuilt, method }) => isBuilt && method === 'GET')) {
    assert.ok(operation.answers.length > 0, operation.key)
    for (const accept of operation.answers) {
      // The option is refused after the media type.
      const answer = await call(operation, '?$nonsense=1', { accept })
      assert.equal(answer.status, 400, `${operation.key}: ${answer.status} ${answer.text}`)
    }
  }
})

test('every read that needs no id answers in a media type of its document', async () => {
  const answered = new Map<string, number>()
  for (const operation of described) {
    if (!operation.isBuilt || operation.method !== 'GET' || operation.url.includes(someId)) continue
    // An endless stream.
    if (operation.key.endsWith('streamJournal')) continue
    const variants = operation.key.endsWith('exportJournal') ? ['', '?format=har'] : ['']
    for (const query of variants) {
      const { status, headers, text } = await call(operation, query, {})
      if (status !== 200) continue
      const [type] = String(headers['content-type']).split(';')
      assert.ok(operation.answers.includes(type as string), `${operation.key}: ${type}, ${operation.answers}`)
      if (type === 'application/json') JSON.parse(text)
      answered.set(type as string, (answered.get(type as string) ?? 0) + 1)
    }
  }
  assert.deepEqual([...answered.keys()].sort(), [
    'application/json',
    'application/x-ndjson',
    'application/yaml',
    'text/xml',
  ])
})

test('the seed of a world is a file: YAML in answers, a form part in requests', async () => {
  const { json } = await documentOf(url, 'control', 'v1')
  const { get } = json.paths['/control/v1/worlds/{worldName}/seed']
  assert.deepEqual(get.responses[200].content, { 'application/yaml': { schema: { type: 'string' } } })
  const { post } = json.paths['/control/v1/worlds/$actions/import']
  const { schema } = post.requestBody.content['multipart/form-data']
  assert.deepEqual(schema.properties.seed, { type: 'string', format: 'binary' })
  assert.deepEqual(schema.properties.name.type, 'string')
  assert.deepEqual(schema.required, ['name', 'seed'])
  const har = json.paths['/control/v1/worlds/{worldName}/journal/export'].get.responses[200].content
  assert.deepEqual(Object.keys(har), ['application/x-ndjson', 'application/json'])
})

test('the server of a document is the address that its reader called: host, port and world; a public URL takes precedence', async () => {
  const made = await app.call('POST', '/control/v1/worlds', { body: { name: 'beside', preset: 'empty', port: 0 } })
  assert.equal(made.status, 201)
  const { port } = new URL(url)
  const serverAt = async (at: string, name: string, headers: Record<string, string> = {}): Promise<string> => {
    const { json } = await documentOf(at, name, name === 'control' ? 'v1' : 'v4.2', headers)
    return json.servers[0].url
  }
  const own = `http://127.0.0.1:${made.data.port}`
  assert.equal(await serverAt(own, 'vmm'), `${own}/api`)
  assert.equal(await serverAt(own, 'control'), own)
  assert.equal(await serverAt(url, 'vmm', { host: `beside.localhost:${port}` }), `http://beside.localhost:${port}/api`)
  assert.equal(await serverAt(url, 'vmm', { 'x-world': 'beside' }), `${url}/api`)
  assert.equal(await serverAt(url, 'vmm', { host: 'evil.example/x' }), `http://localhost:${port}/api`)
  const behind = await startApp({ config: { seed: 'empty', publicUrl: 'https://hp.example:8443' } })
  try {
    const at = (await behind.listen()).url
    assert.equal(await serverAt(at, 'vmm'), 'https://hp.example:8443/api')
    assert.equal(await serverAt(at, 'control'), 'https://hp.example:8443')
  } finally {
    await behind.close()
  }
})
