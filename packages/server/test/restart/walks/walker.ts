/** What every step of a walk does with requests: sends them, remembers them, and believes what it is told. */
import assert from 'node:assert/strict'
import { walkRequests } from '../../kinds/collected.ts'
import type { Asked } from '../asked.ts'
import { Draw } from './draw.ts'
import { collections, type Model, type Sent } from './model.ts'
import type { Heard, Service } from './service.ts'

/** A request before it is known what there is to name in it. */
export interface Intent {
  /** A key of `walkRequests`. */
  readonly name: string
  readonly numbers: readonly number[]
}

/** Real milliseconds for which an answer is waited when rules of faults may hold it up. */
const patience = 200
/** Request ids are remembered for a day; what is older than this may be forgotten at any time. */
export const rememberedMillis = 23 * 3600_000

export async function build(model: Model, service: Service, { name, numbers }: Intent): Promise<Asked | undefined> {
  return walkRequests[name]!({
    model,
    draw: new Draw(numbers),
    async read(path) {
      const heard = await patiently(model, service.call('GET', path))
      if (heard === 'nothing' || heard === 'waits') return undefined
      checkStatus(heard, `GET ${path}`)
      return heard.status === 200 ? heard : undefined
    },
  })
}

/** Sends a new request, and remembers it. */
export function send(model: Model, service: Service, asked: Asked): Promise<Heard> {
  const sent: Sent = { asked, requestId: model.requestId(), at: model.time, mayBeDone: true }
  model.sent.push(sent)
  return again(model, service, sent)
}

/** The same request with the same id. */
export async function again(model: Model, service: Service, sent: Sent): Promise<Heard> {
  const { method, path, ...options } = sent.asked
  const wasFaulty = model.rules.size > 0
  const heard = await service.call(method, path, { ...options, requestId: sent.requestId })
  if (heard === 'nothing') return heard
  checkStatus(heard, `${method} ${path} ${JSON.stringify(sent.asked.body)}`)
  if (heard.status < 300) {
    // Done now, behind all that was done meanwhile.
    if (heard.replayed !== true && model.sent.includes(sent)) {
      model.sent.splice(model.sent.indexOf(sent), 1)
      model.sent.push(sent)
    }
    sent.told ??= heard
    sent.mayBeDone = false
    await learn(model, service, sent)
  } else if (sent.told === undefined) {
    // A rule may have put the refusal in the place of a success.
    sent.mayBeDone &&= wasFaulty || model.rules.size > 0
  }
  return heard
}

/** What nobody may ever be told, whatever goes wrong. */
function checkStatus({ status, text }: Exclude<Heard, 'nothing'>, what: string): void {
  assert.ok(status !== 500 && status !== 501, `${what} was answered ${status}: ${text}`)
}

const clients: Readonly<Record<string, string>> = {
  'volumes:config:iscsi-client': collections.iscsiClients,
  'volumes:config:nvmf-client': collections.nvmfClients,
}

async function learn(model: Model, service: Service, { asked, told }: Sent): Promise<void> {
  const extId = told?.data?.extId
  if (extId === undefined) return
  if (told?.status === 201) model.learn(asked.path, extId)
  if (told?.status !== 202) return
  model.learn(collections.tasks, extId)
  const task = await patiently(model, service.call('GET', `${collections.tasks}/${extId}`))
  if (typeof task === 'string' || task.status !== 200) return
  const made = madeBy(asked, task.data)
  if (isCreation(asked) && made !== undefined) model.learn(asked.path, made)
  for (const { rel, extId } of task.data.entitiesAffected ?? [])
    if (clients[rel] !== undefined) model.learn(clients[rel] as string, extId)
}

/** Id of what a task makes. */
export const madeBy = ({ path }: Asked, { entitiesAffected = [] }: any): string | undefined =>
  // A backup target is told behind the manager that it is one of.
  (path === collections.backupTargets ? entitiesAffected.at(-1) : entitiesAffected[0])?.extId

/** Entities that a list creates cannot be read one by one. */
export const isCreation = ({ method, path, body }: Asked): boolean =>
  method === 'POST' && !path.includes('/$actions/') && !Array.isArray(body)

/** Real milliseconds after which what nothing holds up never comes. */
const never = 60_000

/** What nothing holds up. @throws when it does not come all the same */
export async function soon<T>(what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: `${what} does not end` })), never)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** An answer, or that there is none yet: it waits for a time to come, or for a rule to go. */
export async function patiently<T>(model: Model, answer: Promise<T>): Promise<T | 'waits'> {
  if (model.rules.size === 0) return soon('a request', answer)
  model.waiting.add(answer)
  void answer.catch(() => undefined).finally(() => model.waiting.delete(answer))
  let timer: NodeJS.Timeout | undefined
  const tired = new Promise<'waits'>((resolve) => {
    timer = setTimeout(() => resolve('waits'), patience)
  })
  return Promise.race([answer, tired]).finally(() => clearTimeout(timer))
}

/** In short, for whoever reads what failed. */
export const inShort = ({ method, path, body }: Asked, heard: Heard | 'waits'): string =>
  `${method} ${path.replace(/^\/\w+\/v[^/]+\//, '')}${body === undefined ? '' : ` ${JSON.stringify(body)}`} -> ${
    typeof heard === 'string' ? heard : heard.status
  }`
