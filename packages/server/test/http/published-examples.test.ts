/**
 * A running service accepts every example of the published pages. A body with an elision (`…`) is only checked against the
 * contract.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { contract, type Operation } from '@hyperplane/contract'
import { control } from '@hyperplane/contract/control'
import { readRestore } from '../../src/commands/restore.ts'
import { type InformationRequest, readConfig } from '../../src/config/config.ts'
import { validateBody } from '../../src/core/input/validate.ts'
import { createRouter } from '../../src/core/router.ts'
import { http } from '../support/http.ts'
import { blocksOf, type CurlCall, curlCallsOf, type Example, inlineOf, pages, startsOf } from '../support/published.ts'
import { startApp, type TestApp } from '../support/start-app.ts'
import { aWorld, worlds } from '../support/worlds.ts'

let app: TestApp
let url: string
/** This manager, as the API shows it. */
let own: any
let manager: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
  const { data } = await app.call('GET', '/platform/v4.3/config/domain-managers')
  own = data[0]
  manager = own.extId
})
after(() => app?.close())

const faults = '/control/v1/worlds/default/faults'
const registrar = '/api/platform/v4.3/management/domain-managers/{extId}/$actions/register'

/** Inline JSON that is an answer of the service, not a request. */
const answers = ['{"missed": 120}']
const routers = [
  createRouter(contract, { loose: false, base: '' }),
  createRouter([control], { loose: false, base: '' }),
]

function operationOf(method: string, path: string, where: string): Operation {
  const [target = ''] = path.replace(/^\/api(?=\/)/, '').split('?')
  for (const router of routers) {
    const route = router.route(method, target)
    if (route.found === 'operation') return route.operation
  }
  return assert.fail(`${where}: no operation is ${method} ${path}`)
}

const isElided = (text: string): boolean => text.includes('…')

/** Checks a body against the declared shape, with a value in place of each elision. */
function judge(method: string, path: string, body: string, where: string): void {
  const operation = operationOf(method, path, where)
  assert.ok(operation.body !== undefined, `${where}: ${operation.key} takes no body`)
  const value = withoutElisions(JSON.parse(body))
  const version = operation.versions[0] as string
  const result = validateBody(operation.body, value, { unknown: 'refuse', version, sparse: false, defaults: true })
  assert.deepEqual(result.faults, [], where)
}

function withoutElisions(value: unknown, name = ''): unknown {
  // Ids must be UUIDs, and secrets have a minimum length.
  if (value === '…') return '9f0b5d3f-6a0e-4c39-8f4e-3a1d0c9b7e11'
  if (Array.isArray(value))
    return value.flatMap((each) => (/^…,/.test(String(each)) ? own.network[name] : [withoutElisions(each)]))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutElisions(each, key)]))
}

interface Sent {
  readonly where: string
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** Sends the example unchanged, to an existing world, and deletes its fault rules afterwards. */
async function send({ where, method, path, headers = {}, body }: Sent): Promise<void> {
  for (const name of [/^\/control\/v1\/worlds\/([a-z]+)/.exec(path)?.[1], headers['x-world']])
    if (name !== undefined && app.worlds.get(name) === undefined) await aWorld(app, name, { preset: 'tiny' })
  const sent = http(url, path, { method, headers, ...(body === undefined ? {} : { body }) })
  // An assertion waits for the clock of its world, which is frozen.
  if (path.endsWith('/$actions/assert'))
    await app.call('POST', '/control/v1/worlds/default/clock/$actions/advance', { body: { duration: 'PT1M' } })
  const answer = await sent
  assert.ok(answer.status < 300, `${where}: ${method} ${path}: ${answer.status} ${answer.text}`)
  await app.call('DELETE', faults)
}

/** Sends a body with the headers that its operation requires. */
async function sendBody({ path, ...sent }: Sent): Promise<void> {
  const { ifMatch, mutates } = operationOf(sent.method, path, sent.where)
  const headers = {
    ...(mutates ? { 'svc-request-id': randomUUID() } : {}),
    ...(ifMatch === 'required' ? { 'if-match': await tagOf() } : {}),
  }
  await send({ ...sent, path: path.replaceAll('{extId}', manager), headers })
}

const tagOf = async (): Promise<string> =>
  (await app.call('GET', `/platform/v4.3/config/domain-managers/${manager}`)).etag as string

async function sendForm({ form = {}, ...call }: CurlCall): Promise<void> {
  const parts = new FormData()
  for (const [name, value] of Object.entries(form)) {
    if (!value.startsWith('@')) parts.append(name, value)
    else parts.append(name, new Blob([gzipSync('extends: tiny\n')]), value.slice(1))
  }
  const encoded = new Response(parts)
  const headers = { ...call.headers, 'content-type': encoded.headers.get('content-type') as string }
  await send({ ...call, headers, body: await encoded.bytes() })
}

const named = (where: string): string => where.replace(/^.*\//, '')

describe('calls of curl are answered with success', () => {
  for (const page of pages)
    for (const block of blocksOf(page).filter(({ language }) => /^(?:ba)?sh$/.test(language)))
      test(`${named(block.where)}`, async () => {
        for (const call of curlCallsOf(block, { manager, uuidgen: randomUUID(), PASSWORD: 'Admin.Passw0rd!' })) {
          if (call.form !== undefined) await sendForm(call)
          else if (call.body !== undefined && isElided(call.body)) judge(call.method, call.path, call.body, call.where)
          else await send(call)
        }
      })
})

describe('commands that start the service are accepted', () => {
  for (const page of pages)
    for (const block of blocksOf(page).filter(({ language }) => /^(?:ba)?sh$/.test(language)))
      test(`${named(block.where)}`, () => {
        for (const { argv, env } of startsOf(block)) {
          if (argv[0] === 'restore') readRestore(argv.slice(1), env, '/')
          else readConfig(argv, env, '/')
        }
      })
})

describe('a block of JSON names its request, or is marked as an answer; the request is accepted', () => {
  for (const page of pages)
    for (const { where, language, mark, text } of blocksOf(page))
      if (language === 'json')
        test(named(where), async () => {
          if (mark === 'answer') return
          const [method = '', path = ''] = mark.split(' ')
          assert.ok(path !== '', `${where}: write the request behind the language: \`\`\`json POST /api/…`)
          if (isElided(text)) judge(method, path, text, where)
          else await sendBody({ where, method, path, body: text })
        })
})

describe('JSON in running text is part of a fault rule, or of a request that the page names; the request is accepted', () => {
  for (const page of pages)
    for (const example of inlineOf(page))
      test(`${named(example.where)} ${example.text}`, async () => {
        if (answers.includes(example.text)) return
        const { where } = example
        const [request, body] = requestOf(example)
        if (isElided(example.text)) judge('POST', request, JSON.stringify(body), where)
        else await sendBody({ where, method: 'POST', path: request, body: JSON.stringify(body) })
      })
})

/** Path and body of the request that contains a piece of JSON. */
function requestOf({ where, text }: Example): readonly [path: string, body: object] {
  const value = JSON.parse(text)
  if ('effect' in value) return [faults, value]
  if ('event' in value) return ['/control/v1/worlds/default/events', value]
  if ('location' in value) return [`/api/platform/v4.3/management/domain-managers/${manager}/backup-targets`, value]
  if ('port' in value) return [worlds, { name: 'with-port', preset: 'empty', ...value }]
  if ('remoteCluster' in value) return [registrar, value]
  const isDetail = 'isRetryable' in value
  const effect = isDetail
    ? { error: 'BACKEND_TIMEOUT', arguments: { fault: 'The hypervisor did not answer.' }, ...value }
    : value
  // The service checks effects of any type.
  assert.ok(Object.keys(value).length > 0, where)
  return [faults, { match: { taskStep: { task: 'vmm.create-vm' } }, effect }]
}

describe('a world can be created from each block of YAML', () => {
  for (const page of pages)
    for (const [index, { where, language, text }] of blocksOf(page).entries())
      if (language === 'yaml')
        test(named(where), async () => {
          const created = await app.call('POST', worlds, { body: { name: `seed-${index}`, seed: text } })
          assert.equal(created.status, 201, `${where}: ${JSON.stringify(created.errors)}`)
          await app.call('DELETE', `${worlds}/seed-${index}`)
        })
})

test('the table of options in README names each option of the service, and no other', () => {
  const rows = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8').matchAll(
    /^\| (`--[^|]*(?:\\\|[^|]*)*) \|/gm,
  )
  const documented = [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/--[a-z-]+/g)].map(([name]) => name))
  let help = ''
  try {
    readConfig(['--help'], {}, '/')
  } catch (information) {
    help = (information as InformationRequest).text
  }
  const options = [...help.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name]) => name)
  assert.deepEqual(documented.sort(), options.filter((name) => name !== '--config').sort())
})

test('the pages have examples of each sort', () => {
  const blocks = pages.flatMap(blocksOf)
  const curls = blocks.flatMap((block) => (block.language === 'sh' ? curlCallsOf(block, { manager }) : []))
  assert.ok(curls.length >= 8, `${curls.length} calls of curl`)
  assert.ok(blocks.flatMap(startsOf).length >= 5)
  assert.ok(pages.flatMap(inlineOf).length >= 5)
  assert.ok(blocks.filter(({ language }) => language === 'yaml').length >= 6)
})
