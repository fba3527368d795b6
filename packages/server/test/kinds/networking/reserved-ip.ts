/** Requests by which suites that cover every kind reach reserved addresses of subnets. */

import { completed } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { address, createdPath } from '../../support/field-bases.ts'
import { subnets } from '../../support/subnets.ts'
import type { FieldBase, RestartScenario } from '../kind.ts'
import { aPooledSubnet, vlanSubnet } from './subnet.ts'

/** A subnet of its own, of which an unreserving request finds some addresses reserved. */
const reserving =
  (verb: 'reserve' | 'unreserve', body: object): FieldBase =>
  async (app) => {
    const subnet = await createdPath(app, subnets, vlanSubnet())
    const reserved = { reserveType: 'IP_ADDRESS_RANGE', startIpAddress: address('10.77.0.101'), count: 2 }
    const actions = `${subnet}/addresses/$actions`
    if (verb === 'unreserve')
      await app.task(await app.call('POST', `${actions}/reserve`, { body: { ...reserved, clientContext: 'some' } }))
    return { path: `${actions}/${verb}`, readPath: subnet, body }
  }

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.reserveIpsBySubnetId': [
    reserving('reserve', { reserveType: 'IP_ADDRESS_COUNT', count: 1 }),
    reserving('reserve', { reserveType: 'IP_ADDRESS_RANGE', startIpAddress: address('10.77.0.101'), count: 2 }),
    reserving('reserve', { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [address('10.77.0.102')] }),
  ],
  'networking.unreserveIpsBySubnetId': [
    reserving('unreserve', { unreserveType: 'CONTEXT', clientContext: 'some' }),
    reserving('unreserve', { unreserveType: 'IP_ADDRESS_RANGE', startIpAddress: address('10.77.0.101'), count: 2 }),
    reserving('unreserve', { unreserveType: 'IP_ADDRESS_LIST', ipAddresses: [address('10.77.0.102')] }),
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.reserve-addresses': async (app) => ({
    method: 'POST',
    path: `${subnets}/${await aPooledSubnet(app)}/addresses/$actions/reserve`,
    body: { reserveType: 'IP_ADDRESS_COUNT', count: 3 },
  }),
  'networking.unreserve-addresses': async (app) => {
    const subnet = `${subnets}/${await aPooledSubnet(app)}`
    const body = { reserveType: 'IP_ADDRESS_COUNT', count: 3, clientContext: 'killed' }
    await completed(app, 'POST', `${subnet}/addresses/$actions/reserve`, { body })
    return {
      method: 'POST',
      path: `${subnet}/addresses/$actions/unreserve`,
      body: { unreserveType: 'CONTEXT', clientContext: 'killed' },
    }
  },
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  reserveAddresses: ({ model, draw }) =>
    walk.post(`${model.path(draw, walk.collections.subnets)}/addresses/$actions/reserve`, {
      reserveType: 'IP_ADDRESS_COUNT',
      count: draw.of([1, 2, 5]),
      clientContext: `walk-${draw.below(2)}`,
    }),
  unreserveAddresses: ({ model, draw }) =>
    walk.post(`${model.path(draw, walk.collections.subnets)}/addresses/$actions/unreserve`, {
      unreserveType: 'CONTEXT',
      clientContext: `walk-${draw.below(2)}`,
    }),
}
