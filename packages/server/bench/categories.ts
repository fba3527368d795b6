/**
 * Measures categories at their limits: 20,000 categories, one with 100,000 VMs and one with 10, read by a caller who
 * sees everything and by one whose scope must be checked for every VM. Source: behaviour platform.md 1 (limits).
 */
import type { EntityOf } from '@hyperplane/contract'
import { Category } from '@hyperplane/contract/platform/category'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { limits } from '../src/domains/collected.ts'
import { systemRoleId } from '../src/domains/iam/catalogue/system-roles.ts'
import { aUser } from '../test/support/identities.ts'
import { type CallResult, startApp, type TestApp } from '../test/support/start-app.ts'

/** Milliseconds, medians. */
export interface CategoryTimes {
  readonly few: Carried
  readonly many: Carried
  /** A page of 50 of the 20,000, each with its counts. */
  readonly page: number
  /** One more creation of a category beside 20,000: refused. */
  readonly refusal: number
}

export interface Carried {
  readonly carriers: number
  readonly read: number
  /** With 100 carriers named. */
  readonly detailed: number
  /** By somebody whose scope is asked of each carrier. */
  readonly scoped: number
  /** One VM ceases to carry it, another one begins to. */
  readonly written: number
}

const categories = '/platform/v4.3/config/categories'

export async function measureCategories(): Promise<CategoryTimes> {
  const app = await startApp()
  try {
    const [template] = await app.store.find(Vm, { limit: 1 })
    if (template === undefined) throw new Error('the demo has no VM')
    const ids = await fill(app)
    const [few, many, other] = ids as [string, string, string]
    const scopedUser = await oneWhoSees(app, other)
    // What was read is remembered until the next commit.
    const forget = (): Promise<unknown> => app.store.transaction(async (store) => store.touch(Category, other))
    const carried = async (category: string, carriers: number): Promise<Carried> => {
      let last = await carry(app, template, category, other, carriers)
      const path = `${categories}/${category}`
      const read = async (query = '', as?: string): Promise<any> =>
        done(await app.call('GET', `${path}${query}`, as === undefined ? {} : { as }))
      const [{ count }] = (await read()).associations
      if (count !== carriers) throw new Error(`${count} associations are counted, of ${carriers}`)
      const [seen] = (await read('', scopedUser)).associations
      if (seen.count !== carriers / 2) throw new Error(`${seen.count} are seen, of ${carriers / 2}`)
      return {
        carriers,
        read: await median(200, () => read(), forget),
        detailed: await median(50, () => read('?$expand=detailedAssociations'), forget),
        scoped: await median(9, () => read('', scopedUser), forget),
        written: await median(50, async () => {
          const next = carrier(template, category)
          await app.store.transaction((store) => store.remove(Vm, last))
          await app.store.transaction((store) => store.insert(Vm, next))
          last = next.extId
        }),
      }
    }
    return {
      few: await carried(few, 10),
      many: await carried(many, limits.associationsOfCategory),
      page: await median(50, () => page(app), forget),
      refusal: await median(50, async () => {
        const { status } = await app.call('POST', categories, { body: { key: 'one', value: 'too many' } })
        if (status !== 422) throw new Error(`a creation beyond the limit was answered with ${status}`)
      }),
    }
  } finally {
    await app.close()
  }
}

/** As many categories as there may be. */
async function fill(app: TestApp): Promise<string[]> {
  const ids: string[] = []
  for (let missing = limits.categories - (await app.store.count(Category)); missing > 0; missing -= 1000) {
    await app.store.transaction(async (store) => {
      for (let index = 0; index < Math.min(missing, 1000); index++) {
        const extId = crypto.randomUUID()
        ids.push(extId)
        await store.insert(Category, { extId, key: `bench-${missing}`, value: String(index), type: 'USER' })
      }
    })
  }
  return ids
}

type VmEntity = EntityOf<typeof Vm>

const carrier = ({ nics: _, disks: __, ...template }: VmEntity, ...carried: string[]): VmEntity =>
  ({
    ...template,
    extId: crypto.randomUUID(),
    biosUuid: crypto.randomUUID(),
    name: 'carrier',
    categories: carried.map((extId) => ({ extId })),
  }) as never

/** Every second one carries `other` as well. Answers the last one. */
async function carry(
  app: TestApp,
  template: VmEntity,
  category: string,
  other: string,
  count: number,
): Promise<string> {
  let last = ''
  for (let from = 0; from < count; from += 1000) {
    await app.store.transaction(async (store) => {
      for (let index = from; index < Math.min(count, from + 1000); index++)
        last = (await store.insert(Vm, carrier(template, category, ...(index % 2 === 0 ? [other] : [])))).extId
    })
  }
  return last
}

/** Sees all categories, and the VMs that carry this one. */
async function oneWhoSees(app: TestApp, category: string): Promise<string> {
  const as = await aUser(app, ['Category Viewer'])
  const { data } = await app.call('GET', '/iam/v4.1.b2/authn/users?$limit=100')
  const { extId } = data.find(({ username }: { username: string }) => as.startsWith(`${username}:`))
  done(
    await app.call('POST', '/iam/v4.1.b2/authz/authorization-policies', {
      body: {
        displayName: 'bench',
        role: systemRoleId('Virtual Machine Viewer'),
        identities: [{ identityFilter: { user: { uuid: { eq: extId } } } }],
        entities: [{ entityFilter: { virtual_machine: { category_uuid: { eq: category } } } }],
      },
    }),
  )
  return as
}

const done = ({ status, data, errors }: CallResult): any => {
  if (status >= 300) throw new Error(JSON.stringify(errors))
  return data
}

const page = async (app: TestApp): Promise<unknown> =>
  done(await app.call('GET', `${categories}?$limit=50&$expand=associations`))

/** `before` is not measured. */
async function median(
  times: number,
  work: () => Promise<unknown>,
  before: () => Promise<unknown> = async () => undefined,
): Promise<number> {
  const found: number[] = []
  for (let turn = 0; turn < times; turn++) {
    await before()
    const began = performance.now()
    await work()
    found.push(performance.now() - began)
  }
  return found.sort((a, b) => a - b)[times >> 1] as number
}
