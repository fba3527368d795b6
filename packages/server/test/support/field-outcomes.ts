/** Sends every writable field of an operation and reports its outcome. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { contract, type Operation, TaskReference } from '@hyperplane/contract'
import { creations, fieldBases, fieldValues } from '../kinds/collected.ts'
import type { FieldBase } from '../kinds/kind.ts'
import { providerForm } from './authorities.ts'
import { creating, named } from './field-bases.ts'
import {
  isContained,
  type Known,
  placed,
  valuesFor,
  valuesIn,
  type WritableField,
  writableFields,
  writablePart,
} from './field-bodies.ts'
import type { CallResult, TestApp } from './start-app.ts'

/**
 * `kept`: a get answers what was sent. `used`: the handler of an action, or of a secret, read the field; spreading or
 * serializing the body counts as reading, so this does not prove an effect. `refused`: the client is told that this field is
 * not built yet, or never changes. Otherwise the reason: `lost` or `changed` (an immutable field, by an update) after a request that
 * succeeded, or a refusal.
 */
export interface FieldOutcome {
  readonly path: string
  readonly outcome: string
}

export const isSettled = (outcome: string): boolean => ['kept', 'used', 'refused'].includes(outcome)

interface Probe {
  readonly accepted: boolean
  readonly status?: number
  /** Fields that the refusal calls immutable. */
  readonly immutable?: readonly string[]
  readonly refusal: string
  readonly settled: ReadonlyMap<string, string>
}

const unsent = 'no request held it'

/**
 * Fields are sent together first. A request that is refused is halved until single fields are left, for which several values
 * are tried.
 */
export async function fieldOutcomes(app: TestApp, operation: Operation): Promise<FieldOutcome[]> {
  const body = operation.body!
  const isUpdate = operation.verb === 'update'
  const fields = writableFields(body, isUpdate)
  const outcomes = new Map<string, string>(fields.map(({ path }) => [path, unsent]))
  const isOpen = ({ path }: WritableField): boolean => !isSettled(outcomes.get(path)!)
  const isFaulty = ({ path }: WritableField): boolean => /^(?:lost|changed)/.test(outcomes.get(path)!)
  const known = await knownEntities(app)

  for (const base of basesOf(operation)) {
    if (!fields.some(isOpen)) break
    const probe = async (sent: readonly (readonly [WritableField, unknown])[]): Promise<Probe> => {
      const prepared = await prepare(app, operation, base).catch((error) => String(error))
      if (typeof prepared === 'string') return { accepted: false, refusal: prepared, settled: new Map() }
      let whole = prepared.body
      for (const [field, value] of sent) {
        const own = isUpdate ? [] : valuesIn(whole, body, field.steps)
        if (own.length === 0 || sent.length === 1) whole = placed(body, whole, field.steps, value, known)
      }
      return await send(app, operation, { ...prepared, body: whole }, fields, new Set(sent.map(([{ path }]) => path)))
    }
    const smallest = await probe([])
    const isRefused = ({ status, immutable = [] }: Probe, { path }: WritableField): boolean => {
      const plain = plainPath(path)
      const isNamed = immutable.some((each) => plain === each || plain.startsWith(`${each}/`))
      return isNamed || (status === 501 && smallest.accepted)
    }
    const note = (result: Probe, sent: readonly WritableField[]): void => {
      const { accepted, refusal, settled } = result
      for (const [path, outcome] of settled) {
        if (!isSettled(outcomes.get(path)!)) outcomes.set(path, outcome)
      }
      const [only, ...others] = sent
      if (accepted || only === undefined || others.length > 0 || !isOpen(only)) return
      if (isRefused(result, only)) outcomes.set(only.path, 'refused')
      else if (outcomes.get(only.path) === unsent) outcomes.set(only.path, refusal)
    }
    const settle = async (sent: readonly WritableField[]): Promise<void> => {
      // A request that succeeded without the field says enough: another value would be lost as well.
      const open = sent.filter((field) => isOpen(field) && !isFaulty(field))
      if (open.length === 0) return
      const valuesOf = (field: WritableField): readonly unknown[] =>
        fieldValues[`${operation.key} ${field.path}`] ??
        fieldValues[`* ${field.path.split('/').at(-1)}`] ??
        valuesFor(field.schema, field.path.split('/').at(-1)!, known)
      if (open.length === 1) {
        for (const value of valuesOf(open[0]!)) {
          note(await probe([[open[0]!, value]]), open)
          if (!isOpen(open[0]!) || isFaulty(open[0]!)) return
        }
        // Some fields are accepted only together with others of the same object.
        const parent = parentOf(open[0]!)
        const siblings = fields.filter((field) => parent !== '' && parentOf(field) === parent)
        if (siblings.length > 1) note(await probe(siblings.map((field) => [field, valuesOf(field)[0]])), siblings)
        return
      }
      const result = await probe(open.map((field) => [field, valuesOf(field)[0]]))
      note(result, open)
      const left = open.filter((field) => isOpen(field) && !isFaulty(field))
      if (left.length === 0) return
      if (result.accepted && left.length < open.length) return settle(left)
      const half = Math.ceil(left.length / 2)
      await settle(left.slice(0, half))
      await settle(left.slice(half))
    }
    note(smallest, [])
    // Each is sent alone, because a request for other fields would be refused for it.
    const isFixed = ({ isImmutable }: WritableField): boolean => isUpdate && isImmutable
    for (const group of compatible(fields.filter((field) => !isFixed(field)))) await settle(group)
    for (const field of fields.filter(isFixed)) await settle([field])
  }
  return fields.map(({ path }) => ({ path, outcome: outcomes.get(path)! }))
}

/** As faults and the journal name it: without the alternatives that were chosen, and without indices. */
const plainPath = (path: string): string => path.replaceAll(/<\w+>|\[\d+\]/g, '')

function basesOf({ key }: Operation): readonly FieldBase[] {
  const creation = creations[key]
  const { path, body, clusterId, tagOf } = creation ?? {}
  const isUsable =
    path !== undefined && body !== undefined && creation?.isRandom !== true && creation?.prepare === undefined
  const smallest = isUsable ? [creating(path, () => body(named()), clusterId, tagOf)] : []
  return [...smallest, ...(fieldBases[key] ?? [])]
}

const parentOf = ({ path }: WritableField): string => path.slice(0, Math.max(path.lastIndexOf('/'), 0))

interface Group {
  readonly chosen: Map<string, string>
  readonly fields: WritableField[]
}

/** Groups of fields that do not need two alternatives of one value. */
function compatible(fields: readonly WritableField[]): WritableField[][] {
  const groups: Group[] = []
  for (const field of fields) {
    const chosen = [...field.path.matchAll(/<(\w+)>/g)].map(
      (match) => [field.path.slice(0, match.index), match[1]!] as const,
    )
    const fits = groups.find((group) => chosen.every(([at, name]) => (group.chosen.get(at) ?? name) === name))
    const group: Group = fits ?? { chosen: new Map(), fields: [] }
    if (fits === undefined) groups.push(group)
    for (const [at, name] of chosen) group.chosen.set(at, name)
    group.fields.push(field)
  }
  return groups.map((group) => group.fields)
}

const entities = new WeakMap<TestApp, Promise<Known>>()
function knownEntities(app: TestApp): Promise<Known> {
  const found = entities.get(app) ?? listed(app)
  entities.set(app, found)
  return found
}
async function listed(app: TestApp): Promise<Known> {
  const ids = new Map<string, string[]>()
  for (const { verb, path, resource, namespace, versions } of contract.flatMap((each) => each.operations)) {
    if (verb !== 'list' || path.includes('{') || resource === undefined || ids.has(resource.kind)) continue
    const { data } = await app.call('GET', `/${namespace}/${versions[0]}${path}`)
    ids.set(
      resource.kind,
      (data ?? []).map(({ extId }: any) => extId),
    )
  }
  return (kind) => ids.get(kind) ?? []
}

interface Prepared {
  readonly path: string
  readonly readPath?: string
  readonly as?: string
  readonly body?: any
  readonly clusterId?: string | undefined
  readonly ifMatch?: string | undefined
  readonly before?: any
}

const pathOf = ({ namespace, versions, path }: Operation): string => `/${namespace}/${versions[0]}${path}`

async function prepare(app: TestApp, operation: Operation, base: FieldBase): Promise<Prepared> {
  const made = await base(app)
  const path = made.path ?? pathOf(operation)
  if (operation.verb === 'create') {
    const ifMatch = made.readPath === undefined ? undefined : (await app.call('GET', made.readPath)).etag
    return { ...made, path, ifMatch }
  }
  const read = await app.call('GET', made.readPath ?? path.replace(/\/\$actions.*/, ''))
  const ifMatch = read.etag
  if (operation.verb !== 'update') return { ...made, path, ifMatch }
  return { ...made, path, ifMatch, before: read.data, body: made.body ?? writablePart(operation.body!, read.data) }
}

async function send(
  app: TestApp,
  operation: Operation,
  { path, readPath, as, body, clusterId, ifMatch, before }: Prepared,
  fields: readonly WritableField[],
  added: ReadonlySet<string>,
): Promise<Probe> {
  const requestId = randomUUID()
  const headers = { requestId, ...(as && { as }), ...(clusterId && { clusterId }), ...(ifMatch && { ifMatch }) }
  const answer = await app.call(operation.method, path, {
    ...(operation.form === undefined ? { body } : { form: providerForm(body) }),
    ...headers,
  })
  const refused = (refusal: string): Probe => ({ accepted: false, refusal, settled: new Map() })
  if (answer.status >= 300) {
    const immutable = answer.errors.flatMap(({ message, attributePath, argumentsMap, errorGroup }) => {
      const [, named] = /^(\S+?):? is immutable/.exec(message) ?? []
      const isImmutable = errorGroup === 'IMMUTABLE_ATTRIBUTE' || message.includes('is immutable')
      const path = isImmutable ? (attributePath ?? argumentsMap?.['attributePath'] ?? named) : undefined
      // An alternative that is not the stored one is refused as a whole, by its type.
      return path === undefined ? [] : [plainPath(path).replace(/\/\$objectType$/, '')]
    })
    return { ...refused(`${answer.status} ${refusalOf(answer)}`), status: answer.status, immutable }
  }
  let ids: string[] = [answer.data?.extId]
  // The older interface answers some updates with the entity.
  if (operation.answer === TaskReference) {
    const task = await app.task(answer)
    if (task.status !== 'SUCCEEDED') return refused(`task: ${JSON.stringify(task.errorMessages).slice(0, 300)}`)
    ids = (task.entitiesAffected ?? []).map(({ extId }: { extId: string }) => extId)
  }
  const isAction = operation.verb === 'action'
  const isOnlyRead = ({ isSecret }: WritableField): boolean => isAction || isSecret
  const isSent = ({ steps }: WritableField): boolean => valuesIn(body, operation.body!, steps)[0] !== undefined
  const unread = fields.some((field) => isOnlyRead(field) && isSent(field))
    ? await unreadFieldsOf(app, operation, requestId)
    : []
  const read =
    operation.verb === 'create'
      ? await newest(app, operation, path, ids)
      : (await app.call('GET', readPath ?? path)).data
  const settled = new Map<string, string>()
  for (const field of fields) {
    const [sent] = valuesIn(body, operation.body!, field.steps)
    if (sent === undefined) continue
    if (isOnlyRead(field)) {
      const plain = plainPath(field.path)
      const isUnread = unread.some((each) => plain === each || plain.startsWith(`${each}/`))
      settled.set(field.path, isUnread ? 'lost: not read by the handler' : 'used')
      continue
    }
    const found = valuesIn(read, operation.body!, field.steps)
    const earlier = before === undefined ? [] : valuesIn(before, operation.body!, field.steps)
    if (!found.some((each) => isContained(sent, each))) {
      if (operation.verb === 'create' || added.has(field.path))
        settled.set(field.path, `lost: sent ${JSON.stringify(sent)}, read ${JSON.stringify(found)}`)
    } else if (!earlier.some((each) => isContained(sent, each)))
      settled.set(
        field.path,
        field.isImmutable && before !== undefined
          ? `changed to ${JSON.stringify(sent)}, though it is immutable`
          : 'kept',
      )
  }
  return { accepted: true, refusal: '', settled }
}

/** Fields of the body that the handler of this request did not read, as the journal lists them. */
async function unreadFieldsOf(app: TestApp, { key }: Operation, requestId: string): Promise<readonly string[]> {
  const filter = encodeURIComponent(`requestId eq '${requestId}'`)
  const { data } = await app.call('GET', `/control/v1/worlds/default/journal/calls?$filter=${filter}`)
  const [call] = data
  assert.ok(call !== undefined, `${key}: the journal holds no call with the request id that was sent`)
  return call.unreadFields
}

/** The new entity: one that the task names, else the last of its collection, where the task names only another. */
async function newest(app: TestApp, { body }: Operation, path: string, ids: readonly string[]): Promise<unknown> {
  for (const id of ids) {
    const { status, data } = await app.call('GET', `${path}/${id}`)
    if (status === 200) return data
  }
  const { data } = await app.call('GET', path)
  // A list makes several entities.
  return body?.type === 'list' ? data : data?.at(-1)
}

const refusalOf = ({ errors }: CallResult): string =>
  errors
    .map(({ message, attributePath }) => `${attributePath ?? ''} ${message}`)
    .join(' | ')
    .slice(0, 300)
