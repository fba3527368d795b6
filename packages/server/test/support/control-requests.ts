/**
 * Successful requests of every operation of the control interface, generated from its contract. A request that changes
 * something has a world of its own.
 */
import assert from 'node:assert/strict'
import type { Operation } from '@hyperplane/contract'
import { control } from '@hyperplane/contract/control'
import { type Asking, facts } from './every-operation.ts'
import { type HttpResult, http } from './http.ts'
import type { CallOptions, CallResult, TestApp } from './start-app.ts'
import { aWorld, worlds } from './worlds.ts'

export const { operations } = control
/** An existing world for requests that change nothing. */
export const subject = 'subject'
export const someId = '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11'

/** The parts of a successful request, beside the name of a world. */
interface Case {
  readonly body?: (world: string) => object
  /** Creates the other variables of its path in this world. */
  readonly ids?: (world: string) => Promise<Readonly<Record<string, string>>>
}

const rule = { match: { operation: 'vmm.createVm' }, effect: { dropConnection: 'BEFORE_COMMIT' } }
const event = { type: 'CONTENT_SERVER_FAILS', server: 'images.example.com' }

/** A successful request; one that changes something has a world of its own. */
export interface Request {
  readonly operation: Operation
  readonly world: string
  readonly path: string
  readonly content: Pick<CallOptions, 'body' | 'form'>
  /** Entity tag, if the operation requires one. */
  readonly ifMatch?: string
}

type Ids = Case['ids']

interface CaseParts {
  /** Body of a new world with a name of its own. */
  readonly newWorld: (more?: object) => object
  readonly aRule: Ids
  readonly anEvent: Ids
  readonly aCall: Ids
}

/** By operation. */
function casesOf({ newWorld, aRule, anEvent, aCall }: CaseParts): Readonly<Record<string, Case>> {
  return {
    advanceClock: { body: () => ({ duration: 'PT1M' }) },
    assertCalls: { body: () => ({ atLeast: 0 }) },
    clearJournal: {},
    createFaultRule: { body: () => rule },
    createWorld: { body: () => newWorld({ preset: 'empty' }) },
    createWorldEvent: { body: () => ({ event }) },
    deleteFaultRule: { ids: aRule },
    deleteFaultRules: {},
    deleteWorld: {},
    deleteWorldEvent: { ids: anEvent },
    exportJournal: {},
    exportWorld: {},
    forkWorld: { body: () => newWorld() },
    freezeClock: {},
    getCall: { ids: aCall },
    getCatalogue: {},
    getClock: {},
    getFaultRule: { ids: aRule },
    getJournal: {},
    getWorld: {},
    getWorldEvent: { ids: anEvent },
    importWorld: { body: () => newWorld({ seed: 'extends: empty\n' }) },
    listCalls: {},
    listFaultRules: {},
    listWorldEvents: {},
    listWorlds: {},
    resetFaultRuleCounts: { ids: aRule },
    resetWorld: {},
    resumeClock: {},
    runClockToNextEvent: {},
    scaleClock: { body: () => ({ scale: 10 }) },
    streamJournal: {},
    traceNetwork: {
      body: () => ({ source: { address: '192.0.2.7' }, destination: { address: '192.0.2.8' }, destinationPort: 443 }),
    },
    updateFaultRule: { body: () => rule, ids: aRule },
    updateJournal: { body: () => ({ isRecording: true }) },
    updateWorld: { body: (name) => ({ name, description: 'changed' }) },
  }
}

/** @param url base URL of the listening app */
export function controlRequests(app: TestApp, url: string) {
  const newWorld = (more: object = {}) => ({ name: aName(), ...more })

  const aRule = async (world: string) => idOf(await post(`${worlds}/${world}/faults`, rule))
  const anEvent = async (world: string) => idOf(await post(`${worlds}/${world}/events`, { event, after: 'PT1H' }))
  async function aCall(world: string) {
    const called = await http(url, '/api/platform/v4.3/config/categories', { headers: { 'x-world': world } })
    assert.equal(called.status, 200, called.text)
    return { sequence: '1' }
  }

  const cases = casesOf({ newWorld, aRule, anEvent, aCall })
  let named = 0
  const aName = (): string => `world-${++named}`
  const post = (path: string, body: object): Promise<CallResult> => app.call('POST', path, { body })
  function idOf(made: CallResult): Readonly<Record<string, string>> {
    assert.equal(made.status, 201, facts(made))
    return { extId: made.data.extId }
  }

  const pathOf = (operation: Operation, world: string, ids: Readonly<Record<string, string>> = {}): string =>
    `/control/v1${operation.path.replace(/\{(\w+)\}/g, (_, name) => ({ worldName: world, sequence: '1', extId: someId, ...ids })[name as string] as string)}`

  function contentOf({ id, form }: Operation, world: string): Pick<CallOptions, 'body' | 'form'> {
    const body = cases[id]?.body?.(world)
    if (body === undefined) return {}
    if (form === undefined) return { body }
    const parts = new FormData()
    for (const [name, value] of Object.entries(body)) parts.append(name, String(value))
    return { form: parts }
  }

  async function aRequest(operation: Operation): Promise<Request> {
    const isBelowWorld = operation.path.includes('{worldName}')
    const world = operation.mutates && isBelowWorld ? aName() : subject
    if (world !== subject) await aWorld(app, world)
    const ids = await cases[operation.id]?.ids?.(world)
    const path = pathOf(operation, world, ids)
    const content = contentOf(operation, world)
    if (operation.ifMatch !== 'required') return { operation, world, path, content }
    const { etag } = await app.call('GET', path)
    assert.ok(etag, `${operation.key}: the tag of ${path}`)
    return { operation, world, path, content, ifMatch: etag }
  }

  const send = ({ operation, path, content, ifMatch }: Request, options: CallOptions = {}): Promise<CallResult> =>
    app.call(operation.method, path, { ...content, ...(ifMatch === undefined ? {} : { ifMatch }), ...options })

  const asking: Asking = {
    operations,
    send: (operation, query = '', options = {}) =>
      app.call(operation.method, `${pathOf(operation, subject)}${query === '' ? '' : `?${query}`}`, options),
  }

  const overHttp = (request: Request, headers?: Readonly<Record<string, string>>, as?: null) =>
    sentOverHttp(url, request, headers, as)

  return { cases, newWorld, pathOf, contentOf, aRequest, send, asking, overHttp }
}

/** The same request over a real socket. @param as null: without credentials */
async function sentOverHttp(
  url: string,
  { operation, path, content, ifMatch }: Request,
  headers: Readonly<Record<string, string>> = {},
  as?: null,
): Promise<HttpResult> {
  const form = content.form === undefined ? undefined : new Response(content.form)
  const body = form === undefined ? content.body && JSON.stringify(content.body) : await form.bytes()
  return http(url, path, {
    method: operation.method,
    ...(as === undefined ? {} : { as }),
    headers: {
      ...(form === undefined ? {} : { 'content-type': form.headers.get('content-type') as string }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: body as string | Uint8Array }),
  })
}
