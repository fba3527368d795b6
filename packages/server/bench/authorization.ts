/**
 * Measures the cost of an access decision: one identity with most of 1,000 policies of three sorts, over 50,000 VMs.
 * Source: behaviour iam.md 9.4.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contract } from '@hyperplane/contract'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { isInScope } from '../src/core/access/scope.ts'
import { createAccessControl } from '../src/domains/iam/access.ts'
import { systemRoleId } from '../src/domains/iam/catalogue/system-roles.ts'
import { type CallResult, startApp } from '../test/support/start-app.ts'

export interface Decisions {
  /** Of one decision about one VM, once the identity is known. */
  readonly medianMicros: number
  /** Of the first one after a policy changed. */
  readonly firstMilliseconds: number
  /** Of a page of 50 of the VMs in scope. */
  readonly pageP95Milliseconds: number
}

export async function measureDecisions(folder: string): Promise<Decisions> {
  const seed = join(folder, 'authorization.yaml')
  writeFileSync(seed, 'extends: demo\nvms: 50000\n')
  const app = await startApp({ config: { seed: { file: seed } } })
  const done = ({ status, data, errors }: CallResult): any => {
    if (status >= 300) throw new Error(JSON.stringify(errors))
    return data
  }
  const users = '/iam/v4.1.b2/authn/users'
  const robot = done(await app.call('POST', users, { body: { username: 'bench', userType: 'SERVICE_ACCOUNT' } }))
  const body = { name: 'bench', keyType: 'API_KEY' }
  const { apiKey } = done(await app.call('POST', `${users}/${robot.extId}/keys`, { body })).keyDetails
  const vms = await app.store.find(Vm, { limit: 4000 })
  const categories: string[] = []
  for (let index = 0; index < 500; index++) {
    const pair = { key: `bench-${index % 20}`, value: String(index) }
    categories.push(done(await app.call('POST', '/platform/v4.3/config/categories', { body: pair })).extId)
  }
  for (let index = 0; index < 1000; index++) {
    const category = categories[index % 500]
    const sorts = [
      { category_uuid: { anyof: [category, categories[(index + 7) % 500]] } },
      { uuid: { anyof: [vms[index]?.extId, vms[index + 1000]?.extId] } },
      { category_uuid: { eq: category }, owner_uuid: { eq: robot.extId } },
    ]
    const identity = index % 10 === 9 ? seedOther : robot.extId
    await app.call('POST', '/iam/v4.1.b2/authz/authorization-policies', {
      body: {
        displayName: `bench ${index}`,
        role: systemRoleId('Virtual Machine Admin'),
        identities: [{ identityFilter: { user: { uuid: { eq: identity } } } }],
        entities: [{ entityFilter: { virtual_machine: sorts[index % 3] } }],
      },
    })
  }

  const access = createAccessControl({ store: app.store })
  const update = contract.flatMap((namespace) => namespace.operations).find(({ key }) => key === 'vmm.updateVmById')
  if (update === undefined) throw new Error('vmm.updateVmById is gone')
  const caller = {
    extId: robot.extId,
    name: robot.username,
    type: 'SERVICE_ACCOUNT',
    tenantId: robot.tenantId,
    groups: [],
    credential: 'apiKey',
  } as const
  const decide = async (vm: unknown): Promise<boolean> =>
    isInScope(await access.viewScope(caller, Vm), vm) && isInScope(await access.scope(caller, update), vm)
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const began = performance.now()
    await work()
    return performance.now() - began
  }
  const firstMilliseconds = await timed(() => decide(vms[0]))
  const decisions: number[] = []
  for (const vm of vms) decisions.push(await timed(() => decide(vm)))
  const pages: number[] = []
  for (let turn = 0; turn < 60; turn++) {
    const page = `/vmm/v4.2/ahv/config/vms?$limit=50&$page=${turn % 10}`
    pages.push(await timed(async () => done(await app.call('GET', page, { apiKey }))))
  }
  await app.close()
  return {
    medianMicros: rank(decisions, 0.5) * 1000,
    firstMilliseconds,
    pageP95Milliseconds: rank(pages, 0.95),
  }
}

const seedOther = '11111111-1111-4111-8111-111111111111'
const rank = (times: number[], share: number): number =>
  times.sort((a, b) => a - b)[Math.floor(times.length * share)] as number
