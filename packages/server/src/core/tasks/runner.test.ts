/** Tasks run, fail, are cancelled, and resume after a crash between any two steps. Source: conventions 18; 25.26 to 25.30. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { resource, text } from '@hyperplane/contract'
import { Task } from '@hyperplane/contract/platform/task'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import { tablesOf } from '../../store/tables.ts'
import { ApiError } from '../api-error.ts'
import { systemCaller } from '../caller.ts'
import { WorkerCrash } from '../faults.ts'
import { createIds } from '../ids/ids.ts'
import { createWorldClock, realClock, type TrackingClock } from '../time/clock.ts'
import type { Begin } from './define-task.ts'
import {
  CancelAccepted,
  DriverError,
  type RecordContext,
  type StepContext,
  type TaskDefinition,
  type TaskOptions,
} from './define-task.ts'
import { type RunnerOptions, TaskRunner } from './runner.ts'

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-runner-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const Mark = resource('internal.v1.test.Mark', { fields: { name: text() } })
const owner = systemCaller('00000000-0000-0000-0000-000000000001')

/** The outside world: it survives crashes of the service. */
class Outside {
  readonly effects = new Set<string>()
  readonly calls: string[] = []
  add(callKey: string): void {
    this.calls.push(callKey)
    this.effects.add(callKey)
  }
}

const steps = ['reserve', 'build', 'announce'] as const

/** Three steps, each with an effect outside and a row inside. `fails`: its `run` fails for good after the effect. */
function definitionOf(outside: Outside, fails?: string): TaskDefinition<object, { name: string }> {
  return {
    name: 'test.three-steps',
    cancelableUntil: 'announce',
    steps: steps.map((name, index) => ({
      name,
      progress: 30 * (index + 1),
      async run(ctx) {
        outside.add(ctx.callKey)
        if (name === fails) throw DriverError.final('refused')
        return { name }
      },
      async record(ctx, input) {
        await ctx.store.insert(Mark, { extId: `${input.name}/${name}`, name })
      },
      async undo(ctx) {
        outside.effects.delete(ctx.callKey)
      },
      async unrecord(ctx, input) {
        await ctx.store.remove(Mark, `${input.name}/${name}`)
      },
    })),
    // The request itself stored a row too.
    onUndone: (ctx, input) => ctx.store.remove(Mark, `${input.name}/request`),
  }
}

interface Service {
  readonly store: Store
  readonly runner: TaskRunner<object>
  start<I>(
    definition: TaskDefinition<object, I>,
    input: I,
    options?: Partial<TaskOptions>,
    by?: string,
  ): Promise<string>
  task(extId: string): Promise<any>
  marks(): Promise<readonly string[]>
}

function open(
  file: string,
  definitions: readonly TaskDefinition<object, any>[],
  options: Partial<RunnerOptions<object>> = {},
  clock: TrackingClock = realClock,
): Service {
  const store = openSqliteStore({ file, tables: tablesOf([Task, Mark], []), seal: (plain) => plain, durable: false })
  const ids = createIds(crypto.randomUUID())
  const runner = new TaskRunner<object>({
    store,
    world: {
      tenantId: owner.tenantId,
      clock,
      ids,
      drivers: {},
      services: {} as never,
      secrets: { open: () => undefined },
    },
    definitions: new Map(definitions.map((each) => [each.name, each])),
    durations: 'instant',
    seal: (plain) => plain,
    open: (sealed) => sealed,
    log: { error: () => undefined, warn: () => undefined },
    ...options,
  })
  return {
    store,
    runner,
    async start(definition, input, given = {}, by = owner.extId) {
      const works: (() => void)[] = []
      const { extId } = await store.transaction(async (transaction) => {
        const name = (input as { name?: string }).name
        if (name !== undefined) await transaction.insert(Mark, { extId: `${name}/request`, name: 'request' })
        const start = runner.starter(transaction, { ...owner, extId: by }, (work) => works.push(work))
        return start(definition, input, { operation: 'kTest', affected: [], ...given })
      })
      for (const work of works) work()
      return extId
    },
    task: async (extId) => store.get(Task, extId),
    marks: async () => (await store.find(Mark)).map((mark) => mark.name),
  }
}

const newFile = () => join(folder, `${crypto.randomUUID()}.sqlite`)

test('the application of a task is the namespace in its name, unless its options name another', async () => {
  const idle: TaskDefinition<object, object> = { name: 'vmm.idle', steps: [{ name: 'idle' }] }
  const service = open(newFile(), [idle])
  const appOf = async (options: Partial<TaskOptions>): Promise<string> => {
    const extId = await service.start(idle, {}, options)
    await service.runner.untilEnded(extId)
    return (await service.task(extId)).appName
  }
  assert.equal(await appOf({}), 'vmm')
  assert.equal(await appOf({ appName: 'networking' }), 'networking')
})

test('a task runs its steps in order and keeps their results', async () => {
  const outside = new Outside()
  const definition = definitionOf(outside)
  const service = open(newFile(), [definition])
  const extId = await service.start(definition, { name: 'a' })
  assert.equal((await service.task(extId)).status, 'QUEUED', 'it is there as soon as the request is answered')
  await service.runner.untilEnded(extId)
  const task = await service.task(extId)
  assert.deepEqual([task.status, task.progressPercentage, task.isCancelable], ['SUCCEEDED', 100, false])
  assert.deepEqual(
    task.subSteps.map((step: any) => step.name),
    steps,
  )
  assert.ok(task.createdTime <= task.startedTime && task.startedTime <= task.completedTime)
  assert.deepEqual(await service.marks(), ['request', ...steps])
  assert.equal(outside.effects.size, 3)
})

test('consecutive records share a commit, and a step acts only when all earlier records are durable', async () => {
  const recorded = (name: string) => ({
    name,
    progress: 10,
    record: async (ctx: RecordContext<object>) => {
      await ctx.store.insert(Mark, { extId: `${ctx.taskExtId}/${name}`, name })
    },
  })
  const seen: string[] = []
  const definition: TaskDefinition<object, object> = {
    name: 'test.records',
    steps: [
      ...['one', 'two', 'three'].map(recorded),
      {
        name: 'act',
        progress: 90,
        // Readers see committed rows only.
        run: async (ctx) => void seen.push(...(await ctx.store.find(Mark)).map(({ name }) => name)),
      },
      recorded('four'),
    ],
  }
  const service = open(newFile(), [definition])
  let commits = 0
  service.store.watch([Mark], () => commits++)
  const end = await service.runner.untilEnded(await service.start(definition, {}))
  assert.equal(end.status, 'SUCCEEDED')
  assert.deepEqual(seen, ['one', 'two', 'three'])
  assert.deepEqual(await service.marks(), ['one', 'two', 'three', 'four'])
  assert.equal(commits, 2)
})

test('a step without an effect for its task is skipped, and waits for no commit', async () => {
  const marking = (name: string) => async (ctx: RecordContext<object>) => {
    await ctx.store.insert(Mark, { extId: `${ctx.taskExtId}/${name}`, name })
  }
  for (const [acts, seen] of [
    [false, undefined],
    [true, ['one']],
  ] as const) {
    let committed: readonly string[] | undefined
    const definition: TaskDefinition<object, object> = {
      name: 'test.idle-step',
      steps: [
        { name: 'one', progress: 30, record: marking('one') },
        {
          name: 'two',
          progress: 60,
          acts: async () => acts,
          run: async (ctx) => {
            committed = (await ctx.store.find(Mark)).map(({ name }) => name)
          },
          record: marking('two'),
        },
      ],
    }
    const service = open(newFile(), [definition])
    await service.runner.untilEnded(await service.start(definition, {}))
    assert.deepEqual(committed, seen)
    assert.deepEqual(await service.marks(), ['one', 'two'])
  }
})

test('steps without an effect are recorded together; if one fails, the ones before it stay done', async () => {
  const undone: string[] = []
  for (const fails of [false, true]) {
    const idle = (
      name: string,
      progress: number,
      record?: () => void,
    ): TaskDefinition<object, object>['steps'][number] => ({
      name,
      progress,
      acts: async () => false,
      run: async () => assert.fail('it has nothing to do'),
      record: async (ctx) => {
        await ctx.store.insert(Mark, { extId: `${ctx.taskExtId}/${name}`, name })
        record?.()
        return { keep: [...((ctx.outputs['one'] as string[] | undefined) ?? []), name] }
      },
      unrecord: async (ctx) => {
        undone.push(name)
        await ctx.store.remove(Mark, `${ctx.taskExtId}/${name}`)
      },
    })
    const definition: TaskDefinition<object, object> = {
      name: 'test.idle-steps',
      steps: [
        idle('one', 20),
        idle('two', 40),
        idle('three', 60, () => {
          if (fails) throw DriverError.final('no')
        }),
        { name: 'act', progress: 100, run: async (ctx) => assert.deepEqual(ctx.outputs['three'], ['one', 'three']) },
      ],
    }
    const service = open(newFile(), [definition])
    const written: string[][] = []
    service.store.watch([Mark], () => void service.marks().then((marks) => written.push([...marks])))
    const extId = await service.start(definition, {})
    const { status } = await service.runner.untilEnded(extId)
    const task = await service.task(extId)
    assert.deepEqual(
      [status, task.progressPercentage, task.subSteps.map(({ name }: { name: string }) => name)],
      fails ? ['FAILED', 40, ['one', 'two']] : ['SUCCEEDED', 100, ['one', 'two', 'three', 'act']],
    )
    assert.deepEqual(written[0], fails ? ['one', 'two'] : ['one', 'two', 'three'])
    assert.deepEqual(await service.marks(), fails ? [] : ['one', 'two', 'three'])
  }
  assert.deepEqual(undone, ['two', 'one'])
})

test('a task starts its records when its acceptance is written, and acts when that is durable', async () => {
  const begins: TaskDefinition<object, { given?: string }>['steps'][number] = {
    name: 'begin',
    progress: 50,
    record: async (ctx, input) => void (await ctx.store.insert(Mark, { extId: ctx.taskExtId, name: `${input.given}` })),
  }
  const seen: (readonly string[])[] = []
  const act: typeof begins = {
    name: 'act',
    progress: 100,
    run: async (ctx) => void seen.push((await ctx.store.find(Mark)).map(({ name }) => name)),
  }
  for (const steps of [[act], [begins, act]]) {
    const definition: TaskDefinition<object, { given?: string }> = { name: 'test.fresh', steps }
    const { store, runner, task } = open(newFile(), [definition])
    let commits = 0
    store.watch([Mark], () => commits++)
    const beginnings: Begin[] = []
    const { applied, durable } = store.stage(async (transaction) => {
      await transaction.insert(Mark, { extId: 'request', name: 'request' })
      const start = runner.starter(transaction, owner, (begin) => beginnings.push(begin))
      return start(definition, { given: 'input' }, { operation: 'kTest', affected: [] })
    })
    const { extId } = await applied
    for (const begin of beginnings) begin(durable)
    await durable
    assert.equal((await runner.untilEnded(extId)).status, 'SUCCEEDED')
    assert.equal(commits, 1, 'what it writes before it acts shares the commit of its acceptance')
    assert.equal((await task(extId)).subSteps.length, steps.length)
  }
  assert.deepEqual(seen, [['request'], ['request', 'input']])
})

test('a task whose acceptance is not committed does nothing', async () => {
  const definition: TaskDefinition<object, object> = {
    name: 'test.lost',
    steps: [{ name: 'act', progress: 100, run: async () => assert.fail('nobody accepted it') }],
  }
  const { store, runner } = open(newFile(), [definition])
  const beginnings: Begin[] = []
  const refused = new Error('the disk is full')
  const request = store.transaction(async (transaction) => {
    const start = runner.starter(transaction, owner, (begin) => beginnings.push(begin))
    await start(definition, {}, { operation: 'kTest', affected: [] })
    throw refused
  })
  await assert.rejects(request, refused)
  const accepted = Promise.reject(refused)
  for (const begin of beginnings) begin(accepted)
  await runner.idle()
  assert.equal(await store.count(Task), 0)
})

test('an effect that a driver reported and lost is not recorded: the step is undone', async () => {
  const outside = new Outside()
  let lost = 0
  const definition: TaskDefinition<object, { name: string }> = {
    ...definitionOf(outside),
    steps: definitionOf(outside).steps.map((step) => ({
      ...step,
      async run(ctx, input) {
        const output = await step.run?.(ctx, input)
        if (step.name === 'build') lost++
        return output
      },
    })),
  }
  const service = open(newFile(), [definition], { lostEffects: () => lost })
  const { status } = await service.runner.untilEnded(await service.start(definition, { name: 'a' }))
  assert.equal(status, 'FAILED')
  assert.deepEqual(await service.marks(), [])
  assert.equal(outside.effects.size, 0)
})

test('a waiter is notified when the last record of a task is written, and of its end when that is durable', async () => {
  const part: TaskDefinition<object, object> = {
    name: 'test.part',
    steps: [
      {
        name: 'mark',
        progress: 100,
        record: async (ctx) => void (await ctx.store.insert(Mark, { extId: ctx.taskExtId, name: 'part' })),
      },
    ],
  }
  const told: unknown[] = []
  let waiting: Service
  const look = async (what: string): Promise<void> => {
    const { runner } = waiting
    const [held, ahead] = [runner.queueLength('entity'), runner.queueAhead('entity')]
    told.push([what, await waiting.marks(), held, ahead])
  }
  const whole: TaskDefinition<object, object> = {
    name: 'test.whole',
    steps: [
      {
        name: 'start',
        progress: 50,
        record: async (ctx) => ({
          keep: await ctx.startTask(part, {}, { operation: 'kPart', affected: [], locks: ['entity'] }),
        }),
      },
      {
        name: 'wait',
        progress: 100,
        run: async (ctx) => {
          await ctx.untilEnded([(ctx.outputs['start'] as { extId: string }).extId], () => void look('written'))
          await look('ended')
        },
      },
    ],
  }
  waiting = open(newFile(), [whole, part])
  await waiting.runner.untilEnded(await waiting.start(whole, {}))
  assert.deepEqual(told, [
    ['written', [], 1, 0],
    ['ended', ['part'], 0, 0],
  ])
})

for (const fails of steps) {
  test(`a failure of "${fails}" leaves nothing behind, inside or outside`, async () => {
    const outside = new Outside()
    const definition = definitionOf(outside, fails)
    const service = open(newFile(), [definition])
    const extId = await service.start(definition, { name: 'a' })
    await service.runner.untilEnded(extId)
    const task = await service.task(extId)
    assert.equal(task.status, 'FAILED')
    assert.ok(task.errorMessages.length > 0)
    assert.equal(task.legacyErrorMessage, task.errorMessages[0].message)
    assert.ok(task.progressPercentage < 100)
    assert.deepEqual(await service.marks(), [])
    assert.equal(outside.effects.size, 0)
  })
}

for (const fails of [undefined, 'announce']) {
  for (const step of steps) {
    for (const phase of ['run', 'record', 'undo'] as const) {
      // Only a task that fails is undone, and the step that fails is never recorded.
      if (phase === (fails === undefined ? 'undo' : step === fails ? 'record' : undefined)) continue
      test(`killed before ${phase} of "${step}"${fails === undefined ? '' : ' of a failing task'}, a task ends done once or never done`, async () => {
        const outside = new Outside()
        const definition = definitionOf(outside, fails)
        const file = newFile()
        const reached = Promise.withResolvers<void>()
        const killed = open(file, [definition], {
          // It never resolves, as in a dead process.
          beforeStep: (_definition, at, inPhase) => {
            if (at !== step || inPhase !== phase) return
            reached.resolve()
            return new Promise(() => undefined)
          },
        })
        const extId = await killed.start(definition, { name: 'a' })
        await reached.promise
        await killed.store.close()

        const service = open(file, [definition])
        await service.runner.recover()
        await service.runner.untilEnded(extId)
        const task = await service.task(extId)
        assert.equal(task.status, fails === undefined ? 'SUCCEEDED' : 'FAILED')
        assert.deepEqual(await service.marks(), fails === undefined ? ['request', ...steps] : [])
        assert.equal(outside.effects.size, fails === undefined ? 3 : 0)
        // Repeated calls have the same key: the outside world counts them once.
        assert.ok(new Set(outside.calls).size <= 3)
        service.store.close()
      })
    }
  }
}

test('a stop does not wait for sleeps on a frozen clock, and nothing is retried after it', async () => {
  let calls = 0
  const definitionOf = (name: string, more: object): TaskDefinition<object, object> => ({
    name,
    steps: [
      {
        name: 'call',
        progress: 100,
        ...more,
        async run() {
          calls++
          throw DriverError.retryable('busy')
        },
      },
    ],
  })
  const [slow, flaky] = [definitionOf('test.slow', { seconds: [10, 20] }), definitionOf('test.flaky', {})]
  const clock = createWorldClock(realClock, 'frozen')
  const service = open(newFile(), [slow, flaky], { durations: 'natural' }, clock)
  const tasks = [await service.start(slow, {}), await service.start(flaky, {})]
  await clock.settled()
  await service.runner.stop(Number.POSITIVE_INFINITY)
  assert.equal(calls, 1)
  for (const extId of tasks) assert.equal((await service.task(extId)).status, 'RUNNING')
})

test('a step that handles several things takes the time of each', async () => {
  const definition: TaskDefinition<object, { readonly things: number }> = {
    name: 'test.several',
    steps: [
      { name: 'each', progress: 50, seconds: [10, 10], times: async (_, { things }) => things },
      { name: 'end', progress: 100 },
    ],
  }
  const clock = createWorldClock(realClock, 'frozen')
  const service = open(newFile(), [definition], { durations: 'natural' }, clock)
  const [none, three] = [await service.start(definition, { things: 0 }), await service.start(definition, { things: 3 })]
  await clock.settled()
  assert.equal((await service.task(none)).status, 'SUCCEEDED')
  await clock.advance(29_000)
  await clock.settled()
  assert.equal((await service.task(three)).status, 'RUNNING')
  await clock.advance(2_000)
  await clock.settled()
  assert.equal((await service.task(three)).status, 'SUCCEEDED')
  await service.runner.stop(Number.POSITIVE_INFINITY)
})

test('retryable faults are tried four times', async () => {
  let calls = 0
  const definition: TaskDefinition<object, object> = {
    name: 'test.flaky',
    steps: [
      {
        name: 'call',
        progress: 100,
        async run() {
          if (++calls < 4) throw DriverError.retryable('busy')
        },
      },
    ],
  }
  const service = open(newFile(), [definition])
  assert.equal((await service.runner.untilEnded(await service.start(definition, {}))).status, 'SUCCEEDED')
  assert.equal(calls, 4)
})

test('an undo that fails is retried until it succeeds; the task stays RUNNING meanwhile', async () => {
  let undone = 0
  const seen: string[] = []
  const definition: TaskDefinition<object, object> = {
    name: 'test.hard-undo',
    steps: [
      {
        name: 'call',
        progress: 100,
        run: async () => Promise.reject(new ApiError('CONFLICT', { fault: 'no' })),
        async undo(ctx) {
          seen.push((await ctx.store.get(Task, ctx.taskExtId))?.status as string)
          if (++undone < 3) throw new Error('not now')
        },
      },
    ],
  }
  const service = open(newFile(), [definition])
  const end = await service.runner.untilEnded(await service.start(definition, {}))
  assert.equal(end.status, 'FAILED')
  assert.equal(end.errorMessages[0]?.code, 'PLAT-10009')
  assert.deepEqual(seen, ['RUNNING', 'RUNNING', 'RUNNING'])
})

test('once an irreversible step has run, the task only goes forward; refused, it is undone', async () => {
  const outside = new Outside()
  let refusals = 1
  let lost = 3
  const definition: TaskDefinition<object, { name: string }> = {
    name: 'test.irreversible',
    steps: [
      {
        name: 'switch',
        progress: 50,
        isIrreversible: true,
        async run(ctx) {
          if (refusals-- > 0) throw DriverError.final('refused')
          outside.add(ctx.callKey)
        },
      },
      {
        name: 'tell',
        progress: 100,
        record: async () => {
          if (lost-- > 0) throw new Error('the disk is full')
        },
      },
    ],
  }
  const service = open(newFile(), [definition], {
    beforeStep: (_definition, step, phase) => {
      if (step === 'switch' && phase === 'record' && lost-- > 0) throw new Error('the disk is full')
    },
  })
  const refused = await service.start(definition, { name: 'a' })
  assert.equal((await service.runner.untilEnded(refused)).status, 'FAILED')
  assert.deepEqual(outside.calls, [])
  for (let round = 0; round < 2; round++) {
    lost = 3
    const extId = await service.start(definition, { name: `b${round}` })
    assert.equal((await service.runner.untilEnded(extId)).status, 'SUCCEEDED')
  }
  assert.equal(outside.effects.size, 2)
})

test('a failure between steps is retried too, and the task keeps its lock', async () => {
  let isInTheWay = true
  const order: string[] = []
  const definition: TaskDefinition<object, { id: string }> = {
    name: 'test.hard-unrecord',
    steps: [
      {
        name: 'call',
        progress: 100,
        async run(_ctx, { id }) {
          order.push(`run ${id}`)
          if (id === 'first') throw new ApiError('CONFLICT', { fault: 'no' })
        },
      },
    ],
    async onUndone(_ctx, { id }) {
      order.push(`undone ${id}`)
      if (!isInTheWay) return
      isInTheWay = false
      throw new Error('not now')
    },
  }
  const service = open(newFile(), [definition])
  const first = await service.start(definition, { id: 'first' }, { locks: ['entity'] })
  const second = await service.start(definition, { id: 'second' }, { locks: ['entity'] })
  assert.equal((await service.runner.untilEnded(first)).status, 'FAILED')
  assert.equal((await service.runner.untilEnded(second)).status, 'SUCCEEDED')
  assert.deepEqual(order, ['run first', 'undone first', 'undone first', 'run second'])
})

function gated(): { definition: TaskDefinition<object, { id: string }>; open(id: string): void; begun: string[] } {
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const gate = (id: string) => {
    const known = gates.get(id) ?? Promise.withResolvers<void>()
    gates.set(id, known)
    return known
  }
  const begun: string[] = []
  const definition: TaskDefinition<object, { id: string }> = {
    name: 'test.gated',
    cancelableUntil: 'wait',
    steps: [
      {
        name: 'wait',
        progress: 100,
        async run(ctx, { id }) {
          begun.push(id)
          await gate(id).promise
          if (ctx.cancelRequested()) throw new CancelAccepted()
        },
      },
    ],
  }
  return { definition, open: (id) => gate(id).resolve(), begun }
}

const turns = async (count = 20) => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}

const cancel = async (service: Service, extId: string) => {
  const works: (() => void)[] = []
  await service.store.transaction((transaction) =>
    service.runner.requestCancel(transaction, extId, (work) => works.push(work)),
  )
  for (const work of works) work()
}

test('tasks on one entity run in the order of acceptance, on two they overlap', async () => {
  const gates = gated()
  const service = open(newFile(), [gates.definition])
  const on = (id: string, ...locks: string[]) => service.start(gates.definition, { id }, { locks })
  const first = await on('first', 'vm-1')
  const second = await on('second', 'vm-1')
  const other = await on('other', 'vm-2')
  await turns()
  assert.deepEqual(gates.begun, ['first', 'other'])
  assert.equal((await service.task(second)).status, 'QUEUED')
  gates.open('first')
  await service.runner.untilEnded(first)
  await turns()
  assert.deepEqual(gates.begun, ['first', 'other', 'second'])
  for (const id of ['other', 'second']) gates.open(id)
  await Promise.all([service.runner.untilEnded(second), service.runner.untilEnded(other)])
})

test('64 tasks run at once; the next slot goes to the one task of another identity, not to the 936 before it', async () => {
  const gates = gated()
  const service = open(newFile(), [gates.definition])
  const all: string[] = []
  const queue = async (id: string, by: string): Promise<void> => {
    all.push(await service.start(gates.definition, { id }, {}, by))
  }
  const names = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, index) => `many-${from + index}`)
  for (const id of names(1, 1000)) await queue(id, 'many')
  await turns()
  assert.deepEqual(gates.begun, names(1, 64))
  for (const id of ['few-1', 'few-2']) await queue(id, 'few')
  for (const id of names(1, 3)) {
    gates.open(id)
    await service.runner.untilEnded(all[Number(id.slice(5)) - 1] as string)
  }
  await turns()
  assert.deepEqual(gates.begun.slice(64), ['few-1', 'few-2', 'many-65'])
  for (const id of [...names(4, 1000), 'few-1', 'few-2']) gates.open(id)
  await service.runner.idle()
  assert.deepEqual(gates.begun.slice(64), ['few-1', 'few-2', ...names(65, 1000)])
})

test('after a crash the queued tasks of every identity take turns as before', async () => {
  const gates = gated()
  const file = newFile()
  const before = open(file, [gates.definition])
  await before.runner.stop(0)
  for (const id of ['a1', 'a2', 'a3']) await before.start(gates.definition, { id }, { locks: ['vm-1'] }, 'a')
  for (const id of ['b1', 'b2']) await before.start(gates.definition, { id }, {}, 'b')
  await before.store.close()
  const service = open(file, [gates.definition])
  await service.runner.recover()
  await turns()
  assert.deepEqual(gates.begun, ['a1', 'b1', 'b2'])
  for (const id of ['a1', 'a2', 'a3', 'b1', 'b2']) gates.open(id)
  await service.runner.idle()
  assert.deepEqual(gates.begun, ['a1', 'b1', 'b2', 'a2', 'a3'])
})

test('a cancel of a waiting task ends it at once; the task that it waited for continues', async () => {
  const gates = gated()
  const service = open(newFile(), [gates.definition])
  const first = await service.start(gates.definition, { id: 'first' }, { locks: ['vm-1'] })
  const second = await service.start(gates.definition, { id: 'second' }, { locks: ['vm-1'] })
  await turns()
  await cancel(service, second)
  const end = await service.runner.untilEnded(second)
  assert.equal(end.status, 'CANCELED')
  assert.ok(end.errorMessages.length > 0)
  assert.equal((await service.task(first)).status, 'RUNNING')
  gates.open('first')
  await service.runner.untilEnded(first)
  assert.deepEqual(gates.begun, ['first'], 'what was cancelled never began')
})

test('a cancel of a running task ends it CANCELED, by way of CANCELING', async () => {
  const gates = gated()
  const service = open(newFile(), [gates.definition])
  const extId = await service.start(gates.definition, { id: 'a' })
  await turns()
  await cancel(service, extId)
  assert.equal((await service.task(extId)).status, 'CANCELING')
  gates.open('a')
  assert.equal((await service.runner.untilEnded(extId)).status, 'CANCELED')
})

test('a cancel that is rolled back is none', async () => {
  const gates = gated()
  const service = open(newFile(), [gates.definition])
  const extId = await service.start(gates.definition, { id: 'a' })
  await turns()
  const refused = service.store.transaction(async (transaction) => {
    await service.runner.requestCancel(transaction, extId, () => undefined)
    throw new Error('rolled back')
  })
  await assert.rejects(refused)
  gates.open('a')
  assert.equal((await service.runner.untilEnded(extId)).status, 'SUCCEEDED')
})

test('a subtask does not wait for the lock of its parent', async () => {
  const part = gated()
  const whole: TaskDefinition<object, object> = {
    name: 'test.whole',
    steps: [
      {
        name: 'split',
        progress: 50,
        async record(ctx) {
          const started = await ctx.startTask(
            part.definition,
            { id: 'part' },
            { operation: 'kPart', affected: [], locks: ['vm-1'], parent: ctx.taskExtId },
          )
          await ctx.store.insert(Mark, { extId: 'part', name: started.extId })
        },
      },
      {
        name: 'wait',
        progress: 100,
        run: async (ctx) => void (await ctx.untilEnded([(await ctx.store.get(Mark, 'part'))?.name as string])),
      },
    ],
  }
  const service = open(newFile(), [whole, part.definition])
  const extId = await service.start(whole, {}, { locks: ['vm-1'] })
  await turns()
  part.open('part')
  assert.equal((await service.runner.untilEnded(extId)).status, 'SUCCEEDED')
  const task = await service.task(extId)
  assert.deepEqual([task.numberOfSubtasks, task.subTasks.length], [1, 1])
})

test('a checkpoint of a step is kept, and cannot raise the progress to 100', async () => {
  const definition: TaskDefinition<object, object> = {
    name: 'test.long',
    steps: [
      {
        name: 'long',
        progress: 100,
        async run(ctx) {
          await ctx.checkpoint(150, async (record) => {
            await record.store.insert(Mark, { extId: 'way', name: 'way' })
            record.affect({ extId: 'e', rel: 'r' })
          })
          await ctx.checkpoint(10, async () => undefined)
          const task = await ctx.store.get(Task, ctx.taskExtId)
          assert.deepEqual([task?.progressPercentage, task?.numberOfEntitiesAffected], [99, 1])
        },
      },
    ],
  }
  const service = open(newFile(), [definition])
  assert.equal((await service.runner.untilEnded(await service.start(definition, {}))).status, 'SUCCEEDED')
  assert.deepEqual(await service.marks(), ['way'])
})

test('a repeated step and its undo start subtasks with ids that the first try did not use', async () => {
  const part = { ...definitionOf(new Outside()), name: 'test.part' }
  const warnings: object[] = []
  const started: string[] = []
  let tries = 0
  const start = async (ctx: StepContext<object>): Promise<void> => {
    await ctx.checkpoint(undefined, async (record) => {
      const options = { operation: 'kPart', affected: [], parent: ctx.taskExtId }
      started.push((await record.startTask(part, { name: `part ${started.length}` }, options)).extId)
    })
    await ctx.untilEnded(started)
  }
  const whole: TaskDefinition<object, object> = {
    name: 'test.whole',
    steps: [
      {
        name: 'parts',
        progress: 100,
        async run(ctx) {
          await start(ctx)
          if (++tries === 1) throw new WorkerCrash()
          throw DriverError.final('refused')
        },
        undo: start,
      },
    ],
  }
  const log = { error: () => undefined, warn: (details: object) => void warnings.push(details) }
  const service = open(newFile(), [whole, part], { log })
  assert.equal((await service.runner.untilEnded(await service.start(whole, {}))).status, 'FAILED')
  assert.deepEqual([tries, new Set(started).size, warnings], [2, 3, []])
})

test('a dry run reports and changes nothing; it fails if something would prevent the task', async () => {
  const outside = new Outside()
  for (const problems of [[], [new ApiError('CONFLICT', { fault: 'in the way' }).appMessage]]) {
    const definition: TaskDefinition<object, { name: string }> = {
      ...definitionOf(outside),
      plan: async () => ({ changes: [{ attribute: 'name', from: 'a', to: 'b' }], warnings: ['slow'], problems }),
    }
    const service = open(newFile(), [definition])
    const works: (() => void)[] = []
    const { extId } = await service.store.transaction((transaction) =>
      service.runner.starter(
        transaction,
        owner,
        (work) => works.push(work),
        true,
      )(definition, { name: 'a' }, { operation: 'kTest', affected: [] }),
    )
    for (const work of works) work()
    await service.runner.untilEnded(extId)
    const task = await service.task(extId)
    assert.deepEqual(
      [task.operation, task.status, task.isCancelable],
      ['kTest-dryrun', problems.length === 0 ? 'SUCCEEDED' : 'FAILED', false],
    )
    assert.equal(task.errorMessages?.length ?? 0, problems.length)
    assert.deepEqual(task.completionDetails[1], {
      name: 'changes',
      value: [{ map: { attribute: 'name', from: 'a', to: 'b' } }],
    })
    assert.equal(task.warnings[0].message, 'slow')
    assert.deepEqual(await service.marks(), [])
  }
  assert.equal(outside.effects.size, 0)
})

test('steps that a stop aborts resume at the next start', async () => {
  let isStopped = false
  const definition: TaskDefinition<object, object> = {
    name: 'test.patient',
    steps: [
      {
        name: 'long',
        progress: 100,
        async run(ctx) {
          if (isStopped) return
          await new Promise((resolve) => ctx.stopping.addEventListener('abort', resolve))
          ctx.stopping.throwIfAborted()
        },
      },
    ],
  }
  const file = newFile()
  const first = open(file, [definition])
  const extId = await first.start(definition, {})
  await turns()
  await first.runner.stop(1000)
  assert.equal((await first.task(extId)).status, 'RUNNING')
  first.store.close()
  isStopped = true
  const second = open(file, [definition])
  await second.runner.recover()
  assert.equal((await second.runner.untilEnded(extId)).status, 'SUCCEEDED')
})
