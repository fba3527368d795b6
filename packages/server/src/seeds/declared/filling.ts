/**
 * Shared state while described entities are created: the transaction, entity names, and faults. A fault skips its
 * entity only; at the end all faults are reported together, and nothing is stored.
 */

import type { EntityOf, Resource } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { Role } from '@hyperplane/contract/iam/role'
import { User } from '@hyperplane/contract/iam/user'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { Category } from '@hyperplane/contract/platform/category'
import { ExternalStorage } from '@hyperplane/contract/platform/external-storage'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, Refusal } from '../../core/api-error.ts'
import { systemCaller } from '../../core/caller.ts'
import { didYouMean } from '../../core/input/nearest.ts'
import { validateBody } from '../../core/input/validate.ts'
import { isManager } from '../../domains/containers/storage-containers.ts'
import { isNative } from '../../domains/vmm/vm/create/clusters.ts'
import type { ClusterSettings } from '../../drivers/hardware.ts'
import { UniqueViolation } from '../../store/store.ts'
import { Acting, type Asked, operationOf } from '../acting.ts'
import type { SeedContext } from '../context.ts'
import { eachOf } from '../numbered.ts'
import type { Layer } from '../read-seed.ts'
import type { Names } from '../readable.ts'
import { maximumFaults, type SeedFault } from '../seed-refusal.ts'

export type ClusterEntity = EntityOf<typeof Cluster>
type ContainerEntity = EntityOf<typeof StorageContainer>

/** Thrown to skip an entity whose faults are recorded. */
class Ended extends Error {}

/** The fields that any item of a section may have. */
interface Described {
  readonly name?: string
  readonly value?: string
  readonly extId?: string
  readonly count?: number
}
type Make<T> = (item: T, path: string, number: number) => Promise<void>

export class Filling implements Names {
  readonly ctx: SeedContext
  readonly faults: SeedFault[] = []
  /** Described settings of clusters, by id; they take precedence over those of a profile. */
  readonly settings = new Map<string, ClusterSettings>()
  readonly #layer: Layer
  /** Described entities that could not be created: references to them are not reported as further faults. */
  readonly #failed = new Set<string>()
  readonly #described = new Set<string>()
  readonly #known = new Map<string, unknown>()
  readonly #good = new Set<string>()
  #acting: Acting | undefined

  constructor(ctx: SeedContext, layer: Layer) {
    this.ctx = ctx
    this.#layer = layer
  }

  /** Creates each entity of a section, expanding counts. */
  async each<T extends Described>(section: string, items: readonly T[] | undefined, make: Make<T>): Promise<void> {
    for (const [index, item] of (items ?? []).entries()) await this.described(section, index, item, make)
  }

  /** Creates one item of a section, expanding its count. */
  async described<T extends Described>(section: string, index: number, described: T, make: Make<T>): Promise<void> {
    const path = `${section}[${index}]`
    for (const [item, number] of eachOf(described)) {
      if (this.faults.length >= maximumFaults) return
      const name = keyOf(section, item)
      if (this.#described.has(name)) {
        this.note(path, `${name} is described twice: give one of them another name`)
        continue
      }
      this.#described.add(name)
      if (!(await this.item(path, () => make(item, path, number)))) this.#failed.add(name)
    }
  }

  /** Creates one entity. @returns whether it succeeded; otherwise its faults are recorded */
  async item(path: string, make: () => Promise<void>): Promise<boolean> {
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

  /** Resolves several names, and reports all dangling ones before the entity is skipped. */
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

  /** Skips the current entity. */
  refuse(path: string, message: string): never {
    this.note(path, message)
    throw new Ended()
  }

  /**
   * Validates the body by the rules of its create operation. `like`: bodies with equal values of this key are
   * equivalent for the rules, so only the first one is validated.
   * @returns the body after defaults
   */
  judge(path: string, operation: string, body: object, like?: string, headers: object = {}): unknown {
    if (like !== undefined && this.#good.has(like)) return body
    const found = operationOf(operation)
    if (found.body === undefined) throw new Error(`the operation ${operation} has no body`)
    const version = found.versions[0] as string
    const result = validateBody(found.body, body, { unknown: 'refuse', version, sparse: false, defaults: true })
    let told = result.faults.map(({ attributePath, message }) => `${attributePath}: ${message}`)
    if (told.length === 0) {
      const request = { path: {}, query: {}, headers, body: result.value } as never
      const caller = systemCaller(this.ctx.tenantId)
      const rules = this.#act().rules.get(operation)
      told = (rules?.(request, { operation: found, caller, version, clock: this.ctx.clock }) ?? []).map(
        (error) => error.message,
      )
    }
    for (const message of told) this.note(path, message)
    if (told.length > 0) throw new Ended()
    if (like !== undefined) this.#good.add(like)
    return result.value
  }

  /** Validates the body and runs the operation. */
  async perform(path: string, operation: string, asked: Asked & { readonly body: object }): Promise<void> {
    const { clusterId } = asked
    const body = this.judge(path, operation, asked.body, undefined, { clusterId })
    await this.#act().perform(operation, { ...asked, body })
  }

  #act(): Acting {
    this.#acting ??= new Acting(this.ctx)
    return this.#acting
  }

  // --- Names

  cluster = (name: string, path: string) => this.one('clusters', Cluster, 'name', name, path)
  subnet = (name: string, path: string) => this.one('subnets', Subnet, 'name', name, path)
  vpc = (name: string, path: string) => this.one('vpcs', Vpc, 'name', name, path)
  image = (name: string, path: string) => this.one('images', Image, 'name', name, path)
  vm = (name: string, path: string) => this.one('vms', Vm, 'name', name, path)
  user = (name: string, path: string) => this.one('users', User, 'username', name, path)
  role = (name: string, path: string) => this.one('roles', Role, 'displayName', name, path)

  /** The id of the entity of this kind with this name. */
  one<R extends Resource<any, any>>(
    section: string,
    kind: R,
    field: string,
    name: string,
    path: string,
  ): Promise<EntityOf<R>> {
    return this.#named(
      section,
      name,
      path,
      () => this.ctx.store.findWhere(kind, { [field]: name }),
      async () => (await this.ctx.store.find(kind, { limit: 10_000 })).map((each: any) => each[field]),
    )
  }

  /** The same for a kind without an index on its names: there are few entities. */
  oneOfFew<R extends Resource<any, any>>(
    section: string,
    kind: R,
    field: string,
    name: string,
    path: string,
  ): Promise<EntityOf<R>> {
    const all = (): Promise<any[]> => this.ctx.store.find(kind)
    return this.#named(
      section,
      name,
      path,
      async () => (await all()).filter((each) => each[field] === name),
      async () => (await all()).map((each) => each[field]),
    )
  }

  /** The id of an entity that a body refers to by name. */
  async idOf(kind: string, name: string, path: string): Promise<string> {
    const find = this.#kinds[kind]
    if (find === undefined) throw new Error(`a seed has no names for the kind ${kind}`)
    return (await find(name, path)).extId
  }

  readonly #kinds: Readonly<Record<string, (name: string, path: string) => Promise<{ readonly extId: string }>>> = {
    Category: (name, path) => this.category(name, path),
    Cluster: (name, path) => this.cluster(name, path),
    DirectoryService: (name, path) => this.one('directories', DirectoryService, 'name', name, path),
    ExternalStorage: (name, path) => this.oneOfFew('externalStorages', ExternalStorage, 'name', name, path),
    Gateway: (name, path) => this.oneOfFew('gateways', Gateway, 'name', name, path),
    Host: (name, path) => this.one('hosts', Host, 'hostName', name, path),
    Vpc: (name, path) => this.vpc(name, path),
  }

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

  externals(): Promise<readonly ClusterEntity[]> {
    return this.#once('externals', async () =>
      (await this.ctx.store.find(Cluster)).filter((each) => !isNative(each) && !isManager(each)),
    )
  }

  /** The named cluster, else the only native one. */
  async clusterOr(name: string | undefined, path: string): Promise<ClusterEntity> {
    if (name !== undefined) return this.cluster(name, `${path}.cluster`)
    const natives = await this.natives()
    if (natives.length === 1) return natives[0] as ClusterEntity
    const which =
      natives.length === 0 ? 'there is no native cluster' : `there are ${natives.map((each) => each.name).join(', ')}`
    return this.refuse(path, `cluster is missing: ${which}`)
  }

  /** Clears the cache of names after a change. */
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

  /** Caches results, but not failures. */
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

/** Faults that the author of the seed can correct; any other error is a bug and is thrown. */
function messageOf(error: unknown): string {
  if (error instanceof ApiError) return [error.message, ...error.further.map(({ message }) => message)].join('; ')
  if (error instanceof Refusal) return error.message
  if (error instanceof UniqueViolation)
    return `there is one already with the same ${error.fields.length === 0 ? 'id' : error.fields.join(' and ')}`
  throw error
}
