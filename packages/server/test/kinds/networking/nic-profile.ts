/** Requests by which suites that cover every kind reach NIC profiles. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { hostNicId } from '../../../src/drivers/simulated/host-nics.ts'
import { type Asked, changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { creating, named, updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { made } from '../../support/vpcs.ts'
import type { Creation, FieldBase, RestartScenario } from '../kind.ts'

const profiles = '/networking/v4.3/config/nic-profiles'
const demo = `${profiles}/${seedId('nic-profile/sriov-cx5')}`
const body = (name: string): object => ({
  name,
  nicFamily: '15b3:1017',
  capabilityConfig: { capabilityType: 'SRIOV' },
})
const hostNicExtId = hostNicId(seedId('host/hp-n01-a'), 'eth5')
const acting = (verb: 'associate' | 'disassociate'): Asked => ({
  method: 'POST',
  path: `${demo}/$actions/${verb}-host-nic`,
  body: { hostNicExtId },
})

/** The host NIC is associated with no profile. @returns the path of an association */
async function freed(app: TestApp): Promise<string> {
  const { path, ...options } = acting('disassociate')
  const answer = await app.call('POST', path, options)
  if (answer.status === 202) await app.task(answer)
  return acting('associate').path
}

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createNicProfile': { path: profiles, body },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createNicProfile': [creating(profiles, () => body(named()))],
  'networking.associateHostNicToNicProfile': [async (app) => ({ path: await freed(app), body: { hostNicExtId } })],
  'networking.disassociateHostNicFromNicProfile': [
    async (app) => {
      await freed(app)
      const { path, ...options } = acting('associate')
      await app.task(await app.call('POST', path, options))
      return acting('disassociate')
    },
  ],
  'networking.updateNicProfileById': [updating(profiles, () => body(named()))],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  'networking.updateNicProfileById nicFamily': ['8086:1593'],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-nic-profile': async () => ({ method: 'POST', path: profiles, body: body('killed') }),
  'networking.update-nic-profile': async (app) =>
    changing(app, await made(app, profiles, body('killed')), { description: 'changed' }),
  'networking.delete-nic-profile': async (app) => deleting(await made(app, profiles, body('killed'))),
  'networking.associate-host-nic': async () => acting('associate'),
  'networking.disassociate-host-nic': async (app) => {
    const { path, ...options } = acting('associate')
    await app.task(await app.call('POST', path, options))
    return acting('disassociate')
  },
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createNicProfile: (asking) => walk.post(profiles, body(walk.name(asking, 'profile'))),
  associateHostNic: ({ draw, model }) =>
    walk.post(`${model.path(draw, profiles)}/$actions/associate-host-nic`, { hostNicExtId }),
  disassociateHostNic: ({ draw, model }) =>
    walk.post(`${model.path(draw, profiles)}/$actions/disassociate-host-nic`, { hostNicExtId }),
  deleteNicProfile: walk.removing(profiles),
}

export const walkEntities = { [profiles]: ['nic-profile/sriov-cx5'] }
