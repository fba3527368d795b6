/** The steps of a walk, as commands: each can be left out when a failed walk is made shorter. */
import assert from 'node:assert/strict'
import type fc from 'fast-check'
import type { Asked } from '../asked.ts'
import type { Model } from './model.ts'
import type { Service, Told } from './service.ts'
import { again, build, type Intent, inShort, patiently, rememberedMillis, send, soon } from './walker.ts'

export type Step = fc.AsyncCommand<Model, Service>

const world = '/control/v1/worlds/default'

/** What was done, for whoever reads a walk that failed. */
abstract class Said implements Step {
  said = ''
  abstract run(model: Model, service: Service): Promise<void>
  abstract readonly meant: string
  check(_: Readonly<Model>): boolean {
    return true
  }
  toString(): string {
    return `\n  ${this.meant}${this.said === '' ? '' : `: ${this.said}`}`
  }
}

/** A call of the control interface, which no rule can hold up. */
async function control(service: Service, method: string, path: string, body?: object): Promise<Told> {
  const heard = await soon(`${method} ${path}`, service.call(method, path, body === undefined ? {} : { body }))
  if (heard === 'nothing') throw new Error(`${method} ${path} was not answered`)
  assert.ok(heard.status < 500, `${method} ${path} ${JSON.stringify(body)} was answered ${heard.status}: ${heard.text}`)
  return heard
}

/** One request after the other has come to rest, or several at once. */
export class Requests extends Said {
  readonly meant: string
  readonly intents: readonly Intent[]

  constructor(intents: readonly Intent[]) {
    super()
    this.intents = intents
    this.meant = intents.map(({ name, numbers }) => `${name}(${numbers.join(' ')})`).join(' + ')
  }

  async run(model: Model, service: Service): Promise<void> {
    const asked: Asked[] = []
    for (const intent of this.intents) asked.push(...[(await build(model, service, intent)) ?? []].flat())
    const heard = await Promise.all(asked.map((one) => patiently(model, send(model, service, one))))
    await service.rest()
    this.said = asked.map((one, index) => inShort(one, heard[index] ?? 'waits')).join(' + ')
  }
}

/** Whoever did not hear asks again. */
export class Repeat extends Said {
  readonly meant: string
  readonly number: number

  constructor(number: number) {
    super()
    this.number = number
    this.meant = `again(${number})`
  }

  override check(model: Readonly<Model>): boolean {
    return model.sent.length > 0
  }

  async run(model: Model, service: Service): Promise<void> {
    const sent = model.sent.at(-1 - (this.number % model.sent.length))
    if (sent === undefined) return
    const { told } = sent
    const isRemembered = told !== undefined && model.time - sent.at < rememberedMillis
    const heard = await patiently(model, again(model, service, sent))
    await service.rest()
    this.said = inShort(sent.asked, heard)
    if (!isRemembered || typeof heard === 'string' || model.rules.size > 0) return
    assert.deepEqual([heard.status, heard.replayed, heard.data], [told.status, true, told.data], this.said)
  }
}

export class Rule extends Said {
  readonly meant: string
  readonly rule: object

  constructor(rule: object) {
    super()
    this.rule = rule
    this.meant = `rule ${JSON.stringify(rule)}`
  }

  async run(model: Model, service: Service): Promise<void> {
    const { status, data, text } = await control(service, 'POST', `${world}/faults`, this.rule)
    this.said = String(status)
    assert.ok(status === 201 || status === 400, `${this.meant} was answered ${status}: ${text}`)
    if (status === 201) model.rules.add(data.extId)
  }
}

export class NoRules extends Said {
  readonly meant = 'no rules'

  override check(model: Readonly<Model>): boolean {
    return model.rules.size > 0
  }

  async run(model: Model, service: Service): Promise<void> {
    await control(service, 'DELETE', `${world}/faults`)
    await soon('what no rule holds up any more', Promise.all(model.waiting))
    model.rules.clear()
    await service.rest()
  }
}

export class Event extends Said {
  readonly meant: string
  readonly event: object

  constructor(event: object) {
    super()
    this.event = event
    this.meant = `event ${JSON.stringify(event)}`
  }

  async run(_: Model, service: Service): Promise<void> {
    const { status } = await control(service, 'POST', `${world}/events`, this.event)
    this.said = String(status)
    await service.rest()
  }
}

export class ClockMove extends Said {
  readonly meant: string
  readonly how: string
  readonly body: object | undefined

  constructor(how: string, body?: object) {
    super()
    this.how = how
    this.body = body
    this.meant = `clock ${how} ${body === undefined ? '' : JSON.stringify(body)}`
  }

  async run(model: Model, service: Service): Promise<void> {
    await control(service, 'POST', `${world}/clock/$actions/${this.how}`, this.body)
    // One that goes by itself stands again before the next step.
    if (this.how === 'scale') await control(service, 'POST', `${world}/clock/$actions/freeze`)
    const { data } = await control(service, 'GET', `${world}/clock`)
    const time = Date.parse(data.time)
    assert.ok(time >= model.time, `the clock went back from ${model.time} to ${time}`)
    model.time = time
    await service.rest()
    this.said = data.time
  }
}

/** Killed amid requests; some of them nobody will ever have been told of. */
export class Death extends Said {
  readonly meant: string
  readonly turns: number
  readonly intents: readonly Intent[]

  constructor(turns: number, intents: readonly Intent[]) {
    super()
    this.turns = turns
    this.intents = intents
    this.meant = `killed after ${turns} turns of ${intents.map(({ name, numbers }) => `${name}(${numbers.join(' ')})`).join(' + ')}`
  }

  async run(model: Model, service: Service): Promise<void> {
    const asked: Asked[] = []
    for (const intent of this.intents) asked.push(...[(await build(model, service, intent)) ?? []].flat())
    const answers = Promise.all(asked.map((one) => send(model, service, one)))
    const [heard] = await Promise.all([soon('a call of one who is dead', answers), service.die(this.turns)])
    await soon('what no rule holds up any more', Promise.all(model.waiting))
    this.said = asked.map((one, index) => inShort(one, heard[index] ?? 'nothing')).join(' + ')
    const { data } = await control(service, 'GET', `${world}/clock`)
    const time = Date.parse(data.time)
    assert.ok(time >= model.time, `a move of the clock was lost: it was ${model.time} and is ${time}`)
    model.time = time
    await service.rest()
  }
}

export class Fork extends Said {
  readonly meant = 'fork'

  override check(model: Readonly<Model>): boolean {
    return model.forks.size < 2
  }

  async run(model: Model, service: Service): Promise<void> {
    const name = `fork-${model.number()}`
    const { status, text } = await control(service, 'POST', `${world}/$actions/fork`, { name })
    assert.equal(status, 201, text)
    model.forks.set(name, await service.insideOf(name))
    this.said = name
  }
}

export class ForkGoes extends Said {
  readonly meant = 'a fork goes'

  override check(model: Readonly<Model>): boolean {
    return model.forks.size > 0
  }

  async run(model: Model, service: Service): Promise<void> {
    const [name = ''] = model.forks.keys()
    model.forks.delete(name)
    assert.equal((await control(service, 'DELETE', `/control/v1/worlds/${name}`)).status, 204)
  }
}

export class Reset extends Said {
  readonly meant = 'reset'

  async run(model: Model, service: Service): Promise<void> {
    const { status, text } = await control(service, 'POST', `${world}/$actions/reset`)
    assert.equal(status, 200, text)
    await soon('what no rule holds up any more', Promise.all(model.waiting))
    model.forget()
    await service.rest()
  }
}
