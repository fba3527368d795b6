/** Examples of events and facts with entities of one world. Each is tried: its event runs up to its first write. */

import type { AnySchema, ObjectSchema, ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { Catalogue } from '@hyperplane/contract/control/catalogue'
import {
  factKinds,
  type Happening,
  type HappeningType,
  happeningTypes,
  WorldHappening,
} from '@hyperplane/contract/control/world-happening'
import { ApiError } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import { isManager } from '../../domains/containers/storage-containers.ts'
import { type FactKind, kindsOfFacts } from '../../drivers/simulated/events/facts.ts'
import { CannotHappen, type Naming } from '../../drivers/simulated/events/index.ts'
import type { SimulatedWorld } from '../../drivers/simulated/world.ts'
import type { Instance } from '../../instance/instance.ts'
import { judged } from '../../simulation/refusals.ts'
import { surroundingsOf } from '../../simulation/surroundings.ts'
import { candidateNames, findTarget } from '../../simulation/targets.ts'
import { sortOf } from '../../simulation/world-events.ts'

type Entries = ValueOf<typeof Catalogue>
type World = Pick<Instance, 'store' | 'world' | 'clock' | 'drivers'>
type Example = Pick<Entries['events'][number], 'example' | 'missing'>

const maximumTriedNames = 200

/** All examples are accepted if they are sent in the order of the answer. */
export async function eventsAndFacts(world: World): Promise<Pick<Entries, 'events' | 'facts'>> {
  const examples = new Examples(world)
  const events: Entries['events'] = []
  for (const type of happeningTypes) {
    const { until } = sortOf(type)
    const end = until === undefined ? {} : { endedBy: until }
    events.push({ type, parameters: parametersOf(shapeOf(type)), ...end, ...(await examples.of(type)) })
  }
  const facts: Entries['facts'] = []
  for (const kind of factKinds) {
    const { target, schema } = kindsOfFacts[kind]
    facts.push({ kind, of: target, fields: Object.keys(schema.fields), ...(await examples.ofFact(kind)) })
  }
  return { events, facts }
}

class Examples {
  readonly #world: World
  /** Kind and name of entities that an earlier example changes permanently; later examples skip them. */
  readonly #changed = new Set<string>()
  readonly #named = new Map<HappeningType, string>()

  constructor(world: World) {
    this.#world = world
  }

  async of(type: HappeningType): Promise<Example> {
    if (type === 'FACT_CHANGES') return this.ofFact('VM')
    const { kind, field } = namingOf(type)
    const isNamed = Object.hasOwn(shapeOf(type).fields, field) && field !== 'type'
    const begins = happeningTypes.find((other) => sortOf(other).until === type)
    const before = begins === undefined ? undefined : this.#named.get(begins)
    for (const name of before === undefined ? await this.#namesOf(kind) : [before]) {
      const event = { type, ...(isNamed ? { [field]: name } : {}) } as Happening
      if (this.#changed.has(`${kind} ${name}`) || !(await this.#canHappen(event))) continue
      this.#named.set(type, name)
      // A disk that was replaced does not come back.
      const isForever = (sortOf(type).until === undefined && begins === undefined) || type === 'DISK_REPLACED'
      if (isForever) this.#changed.add(`${kind} ${name}`)
      return { example: { event } }
    }
    const event = { type, ...(isNamed ? { [field]: placeholder(kind) } : {}) }
    return { example: { event }, missing: `No ${kind} of this world was found to which this could happen.` }
  }

  async ofFact(kind: FactKind): Promise<Example> {
    const { target, schema } = kindsOfFacts[kind]
    for (const name of await this.#namesOf(target)) {
      if (this.#changed.has(`${target} ${name}`)) continue
      const event = await this.#factChange(kind, name)
      if (event !== undefined) return { example: { event } }
    }
    const [path, field] = Object.entries(schema.fields).find(([, each]) => each.secret !== true) as [string, AnySchema]
    const event = { type: 'FACT_CHANGES', kind, of: placeholder(target), path, value: otherValue(field, undefined) }
    return { example: { event }, missing: `No ${target} of this world was found of which a fact could change.` }
  }

  async #factChange(kind: FactKind, name: string): Promise<Happening | undefined> {
    const { target, schema, read } = kindsOfFacts[kind]
    const entity = await this.#find({ kind: target, text: name, field: 'of' })
    const present = entity === undefined ? undefined : read(this.#world.world, entity.extId)
    if (present === undefined) return undefined
    for (const [path, field] of Object.entries(schema.fields)) {
      const value = field.secret === true ? undefined : otherValue(field, present[path])
      if (value === undefined) continue
      const event = { type: 'FACT_CHANGES', kind, of: name, path, value } as Happening
      if (await this.#canHappen(event)) return event
    }
    return undefined
  }

  async #namesOf(kind: Naming['kind']): Promise<readonly string[]> {
    if (kind === 'content server') return ['images.example.com']
    const names = new Set(await candidateNames(this.#world, kind))
    if (kind === 'cluster') {
      // The manager is listed as a cluster without hosts and containers: prefer real clusters.
      for (const { name } of (await this.#world.store.find(Cluster)).filter(isManager))
        if (names.delete(name)) names.add(name)
    }
    return [...names].slice(0, maximumTriedNames)
  }

  async #find(naming: Naming) {
    try {
      return await findTarget(this.#world, naming)
    } catch (error) {
      if (error instanceof ApiError) return undefined
      throw error
    }
  }

  async #canHappen(event: Happening): Promise<boolean> {
    const { world } = this.#world
    const target = await this.#find(sortOf(event.type).about(event))
    if (target === undefined) return false
    try {
      judged(world, event, target)
      await sortOf(event.type).happen({
        ...surroundingsOf(this.#world),
        world: withoutWrites(world),
        event,
        target,
      })
      return true
    } catch (error) {
      if (error instanceof WouldWrite) return true
      if (error instanceof CannotHappen) return false
      throw error
    }
  }
}

/** Ends a trial as a success: events write last, after all their refusals. */
class WouldWrite extends Error {}

function withoutWrites(world: SimulatedWorld): SimulatedWorld {
  const refuse = async (): Promise<never> => {
    throw new WouldWrite()
  }
  return {
    ...world,
    collection: (name) => ({
      ...world.collection(name),
      put: refuse,
      putAll: refuse,
      stage: refuse,
      remove: refuse,
    }),
  }
}

const shapes = new Map(
  WorldHappening.alternatives.map((shape) => {
    const { fields } = shape as ObjectSchema
    return [(fields['type'] as { readonly values: readonly string[] }).values[0], shape as ObjectSchema]
  }),
)
const shapeOf = (type: HappeningType): ObjectSchema => shapes.get(type) as ObjectSchema

const namingOf = (type: HappeningType): Naming => sortOf(type).about({ type } as Happening)

const parametersOf = ({ fields }: ObjectSchema): Entries['events'][number]['parameters'] =>
  Object.entries(fields)
    .filter(([name]) => name !== 'type')
    .map(([name, schema]) => ({
      name,
      type: schema.type,
      isRequired: schema.optional !== true && schema.defaultsTo === undefined,
      ...(schema.defaultsTo === undefined ? {} : { default: schema.defaultsTo }),
      ...(schema.type === 'enumeration' ? { values: [...schema.values] } : {}),
      ...rangeOf(schema),
    }))

function rangeOf(schema: AnySchema): { minimum?: number; maximum?: number } {
  if (schema.type !== 'integer' && schema.type !== 'number') return {}
  const { minimum, maximum } = schema
  return defined({ minimum, maximum })
}

const placeholder = (kind: Naming['kind']): string => `name of a ${kind}`

/** The present value if no other can be derived from the type. */
function otherValue(schema: AnySchema, present: unknown): unknown {
  switch (schema.type) {
    case 'text':
      return schema.pattern === undefined ? `${present ?? 'changed'}-2` : present
    case 'boolean':
      return present !== true
    case 'integer':
      return typeof present === 'number' ? Math.max(schema.minimum ?? 0, present - 1) : (schema.minimum ?? 0)
    case 'list':
      return present ?? []
    default:
      return present
  }
}
