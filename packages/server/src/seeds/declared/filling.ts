/**
 * What everyone who makes described things needs: the transaction, names that lead to entities, and a place for faults. A fault ends
 * the thing that it was found in, not the filling: all of them are told together, and then nothing was made.
 */
import { contract, type EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { User } from '@hyperplane/contract/iam/user'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Category } from '@hyperplane/contract/platform/category'
import { Image } from '@hyperplane/contract/vmm/image'
import { Vm } from '@hyperplane/contract/vmm/vm'
import { ApiError, Refusal } from '../../core/api-error.ts'
import { systemCaller } from '../../core/context.ts'
import { didYouMean } from '../../core/nearest.ts'
import { validateBody } from '../../core/validate.ts'
import { collectDomains } from '../../domains/collected.ts'
import type { SeedContext } from '../../domains/seed.ts'
import { isNative } from '../../domains/vmm/vm/clusters.ts'
import { UniqueViolation } from '../../store/store.ts'
import { eachOf } from '../numbered.ts'
import type { Layer } from '../read-seed.ts'
import { maximumFaults, type SeedFault } from '../seed-refusal.ts'

export type ClusterEntity = EntityOf<typeof Cluster>
type ContainerEntity = EntityOf<typeof StorageContainer>
type SubnetEntity = EntityOf<typeof Subnet>

/** Ends a thing of which faults are noted. */
class Ended extends Error {}

export class Filling {
  readonly ctx: SeedContext
  readonly faults: SeedFault[] = []
  readonly #layer: Layer
  /** What was described and could not be made: whoever names it is not told again. */
  readonly #failed = new Set<string>()
  readonly #described = new Set<string>()
  readonly #known = new Map<string, unknown>()
  readonly #good = new Set<string>()
  #collected: ReturnType<typeof collectDomains> | undefined

  constructor(ctx: SeedContext, layer: Layer) {
    this.ctx = ctx
    this.#layer = layer
  }

  /** Makes each thing of a section, and each of those that a count stands for. */
  async each<
    T extends { readonly name?: string; readonly value?: string; readonly extId?: string; readonly count?: number },
  >(
    section: string,
    items: readonly T[] | undefined,
    make: (item: T, path: string, number: number) => Promise<void>,
  ): Promise<void> {
    for (const [index, described] of (items ?? []).entries()) {
      const path = `${section}[${index}]`
      for (const [item, number] of eachOf(described)) {
        if (this.faults.length >= maximumFaults) return
        const name = keyOf(section, item)
        if (this.#described.has(name)) {
          this.note(path, `${name} is described twice: give one of them another name`)
          continue
        }
        this.#described.add(name)
        if (!(await this.#made(path, () => make(item, path, number)))) this.#failed.add(name)
      }
    }
  }

  async #made(path: string, make: () => Promise<void>): Promise<boolean> {
    const before = this.faults.length
    try {
      await make()
    } catch (error) {
      if (!(error instanceof Ended)) this.note(path, messageOf(error))
    }
    return this.faults.length === before
  }

  note(path: string, message: string): void {
    this.faults.push({ ...this.#layer.placeOf(path), path, message })
  }

  /** Everything that is asked of names, before the thing at hand ends with what leads nowhere. */
  async all<T extends readonly unknown[]>(asked: { readonly [I in keyof T]: () => Promise<T[I]> }): Promise<T> {
    const found: unknown[] = []
    let hasEnded = false
    for (const ask of asked) {
      try {
        found.push(await ask())
      } catch (error) {
        if (!(error instanceof Ended)) throw error
        hasEnded = true
      }
    }
    if (hasEnded) throw new Ended()
    return found as unknown as T
  }

  /** Ends the thing at hand. */
  refuse(path: string, message: string): never {
    this.note(path, message)
    throw new Ended()
  }

  /**
   * Judges it by the rules of the operation that would make it. `body`: what would be sent. `like`: what else was judged by
   * this name was the same for these rules, and need not be judged again when it was good.
   */
  judge(path: string, operation: string, body: object, like?: string): void {
    if (like !== undefined && this.#good.has(like)) return
    const found = contract.flatMap(({ operations }) => operations).find(({ key }) => key === operation)
    if (found?.body === undefined) throw new Error(`no operation ${operation} with a body`)
    const version = found.versions.at(-1) as string
    const result = validateBody(found.body, body, { unknown: 'refuse', version, sparse: false, defaults: true })
    let told = result.faults.map(({ attributePath, message }) => `${attributePath}: ${message}`)
    if (told.length === 0) {
      this.#collected ??= collectDomains()
      const request = { path: {}, query: {}, headers: {}, body: result.value } as never
      const caller = systemCaller(this.ctx.tenantId)
      const rules = this.#collected.rules.get(operation)
      told = (rules?.(request, { operation: found, caller, version, clock: this.ctx.clock as never }) ?? []).map(
        (error) => error.message,
      )
    }
    for (const message of told) this.note(path, message)
    if (told.length > 0) throw new Ended()
    if (like !== undefined) this.#good.add(like)
  }

  // --- Names

  cluster = (name: string, path: string): Promise<ClusterEntity> =>
    this.#named(
      'clusters',
      name,
      path,
      () => this.ctx.store.findWhere(Cluster, { name }),
      async () => (await this.ctx.store.find(Cluster)).map((each) => each.name),
    )

  subnet = (name: string, path: string): Promise<SubnetEntity> =>
    this.#named(
      'subnets',
      name,
      path,
      () => this.ctx.store.findWhere(Subnet, { name }),
      async () => (await this.ctx.store.find(Subnet)).map((each) => each.name),
    )

  image = (name: string, path: string): Promise<EntityOf<typeof Image>> =>
    this.#named(
      'images',
      name,
      path,
      () => this.ctx.store.findWhere(Image, { name }),
      async () => (await this.ctx.store.find(Image)).map((each) => each.name),
    )

  vm = (name: string, path: string): Promise<EntityOf<typeof Vm>> =>
    this.#named(
      'vms',
      name,
      path,
      () => this.ctx.store.findWhere(Vm, { name }),
      async () => (await this.ctx.store.find(Vm, { limit: 10_000 })).map((each) => each.name),
    )

  user = (username: string, path: string): Promise<EntityOf<typeof User>> =>
    this.#named(
      'users',
      username,
      path,
      () => this.ctx.store.findWhere(User, { username }),
      async () => (await this.ctx.store.find(User)).map((each) => each.username),
    )

  /** `Environment/Dev` */
  category = (name: string, path: string): Promise<EntityOf<typeof Category>> => {
    const [key = '', value = ''] = name.split(/\/(.*)/s)
    return this.#named(
      'categories',
      name,
      path,
      () => this.ctx.store.findWhere(Category, { key, value }),
      async () => (await this.ctx.store.find(Category, { limit: 10_000 })).map((each) => `${each.key}/${each.value}`),
    )
  }

  /** `default` is what the cluster's own is called by. */
  container = (cluster: ClusterEntity, name: string, path: string): Promise<ContainerEntity> => {
    const own = async (): Promise<ContainerEntity[]> =>
      this.ctx.store.findWhere(StorageContainer, { clusterExtId: cluster.extId })
    const isMeant = (each: ContainerEntity): boolean =>
      name === 'default' ? each.name.startsWith('default-container') || each.name === name : each.name === name
    return this.#named(
      `containers of ${cluster.name}`,
      name,
      path,
      async () => (await own()).filter(isMeant),
      async () => ['default', ...(await own()).map((each) => each.name)],
    )
  }

  async categories(names: readonly string[] | undefined, path: string): Promise<string[]> {
    const found = await this.all((names ?? []).map((name, index) => () => this.category(name, `${path}[${index}]`)))
    return found.map(({ extId }) => extId)
  }

  natives(): Promise<readonly ClusterEntity[]> {
    return this.#once('natives', async () => (await this.ctx.store.find(Cluster)).filter(isNative))
  }

  /** The one that is named, else the only native one. */
  async clusterOr(name: string | undefined, path: string): Promise<ClusterEntity> {
    if (name !== undefined) return this.cluster(name, `${path}.cluster`)
    const natives = await this.natives()
    if (natives.length === 1) return natives[0] as ClusterEntity
    const which =
      natives.length === 0 ? 'there is no native cluster' : `there are ${natives.map((each) => each.name).join(', ')}`
    return this.refuse(path, `cluster is missing: ${which}`)
  }

  /** Something changed that names lead to. */
  forget(): void {
    this.#known.clear()
  }

  async #named<T>(
    section: string,
    name: string,
    path: string,
    find: () => Promise<readonly T[]>,
    names: () => Promise<readonly string[]>,
  ): Promise<T> {
    return this.#once(`${section} ${name}`, async () => {
      const [found, other] = await find()
      if (found !== undefined && other === undefined) return found
      if (this.#failed.has(`${section} ${name}`)) throw new Ended()
      if (other !== undefined)
        return this.refuse(path, `"${name}" names several of the ${section} that there are: name another`)
      return this.refuse(path, `"${name}" is none of the ${section} that there are${didYouMean(name, await names())}`)
    })
  }

  /** What was found is remembered; a failure is not. */
  async #once<T>(key: string, find: () => Promise<T>): Promise<T> {
    if (this.#known.has(key)) return this.#known.get(key) as T
    const found = await find()
    this.#known.set(key, found)
    return found
  }
}

function keyOf(section: string, item: { readonly name?: string; readonly value?: string }): string {
  const { key } = item as { key?: string }
  return `${section} ${key === undefined ? item.name : `${key}/${item.value}`}`
}

/** What a person can do something about; all else is a bug, and loud. */
function messageOf(error: unknown): string {
  if (error instanceof ApiError) return [error.message, ...error.further.map(({ message }) => message)].join('; ')
  if (error instanceof Refusal) return error.message
  if (error instanceof UniqueViolation)
    return `there is one already with the same ${error.fields.length === 0 ? 'id' : error.fields.join(' and ')}`
  throw error
}
