/** Refusals name only what the caller may see. Source: behaviour networking.md 1.1; conventions.md. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { demoSubnet } from '../../support/subnets.ts'
import { switchBody, switches } from '../../support/virtual-switches.ts'
import { demoVpc } from '../../support/vpcs.ts'
import { aRobot, aRole, grant } from '../iam/people.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const config = '/networking/v4.3/config'
const all = { '*': { eq: '*' } }

/** The key of somebody who sees all entities of these kinds and no others. */
async function keyFor(operations: readonly string[], kinds: readonly string[]): Promise<string> {
  const robot = await aRobot(app)
  await grant(
    app,
    { id: await aRole(app, operations) },
    robot.extId,
    Object.fromEntries(kinds.map((kind) => [kind, all])),
  )
  return robot.apiKey
}
const messageOf = ({ status, errors }: CallResult, expected: number): string => {
  assert.equal(status, expected, JSON.stringify(errors))
  return errors[0]!.message
}

test('the refusal to delete a VPC counts, by kind, its users that the caller may not see', async () => {
  const apiKey = await keyFor(['View_VPC', 'Delete_VPC', 'View_Subnet'], ['vpc', 'subnet'])
  const message = messageOf(await app.call('DELETE', demoVpc('prod'), { apiKey }), 409)
  assert.match(message, /subnet (web|db), subnet (web|db)/)
  assert.match(message, /floating IP that you may not see, gateway that you may not see \(\d\)/)
  assert.doesNotMatch(message, /web-1|vpn-prod|bgp-prod/)
})

test('the refusal to delete a subnet does not name VMs of others', async () => {
  const apiKey = await keyFor(['View_Subnet', 'Delete_Subnet'], ['subnet'])
  const message = messageOf(await app.call('DELETE', demoSubnet('vlan-100-app'), { apiKey }), 409)
  assert.match(message, /VM that you may not see \(\d+\)/)
  assert.doesNotMatch(message, /batch-01/)
})

test('the refusal to change the AS number of a gateway does not name sessions and gateways of others', async () => {
  const apiKey = await keyFor(
    ['View_Gateway', 'Update_Gateway', 'View_VPC', 'View_Cluster'],
    ['gateway', 'vpc', 'cluster'],
  )
  const change = async (name: string, edit: (services: any) => void): Promise<string> => {
    const path = `${config}/gateways/${seedId(`gateway/${name}`)}`
    const { data, etag } = await app.call('GET', path, { apiKey })
    edit(data.services)
    return messageOf(await app.call('PUT', path, { body: data, ifMatch: etag!, apiKey }), name === 'tor-a' ? 400 : 409)
  }
  const own = await change('bgp-prod', ({ localBgpService }) => {
    localBgpService.asn = 65_099
  })
  assert.match(own, /BGP session that you may not see/)
  const other = await change('tor-a', ({ remoteBgpService }) => {
    remoteBgpService.asn = 65_010
  })
  assert.match(other, /that of the local gateway of the BGP session that you may not see/)
})

test('refusals because a prefix or a host NIC is taken do not name the subnet or switch of others that has it', async () => {
  const apiKey = await keyFor(
    ['Create_Subnet', 'Add_Virtual_Switch', 'View_VPC', 'View_Cluster'],
    ['subnet', 'virtual_switch', 'vpc', 'cluster'],
  )
  const ipConfig = [
    {
      ipv4: {
        ipSubnet: { ip: { value: '192.168.10.0' }, prefixLength: 25 },
        defaultGatewayIp: { value: '192.168.10.1' },
      },
    },
  ]
  const vpcReference = demoVpc('prod').slice(-36)
  const subnet = { name: 'overlapping', subnetType: 'OVERLAY', vpcReference, ipConfig }
  const overlapping = await app.call('POST', `${config}/subnets`, { body: subnet, apiKey })
  assert.match(messageOf(overlapping, 409), /subnet that you may not see overlaps it/)
  const taken = await app.call('POST', switches, { body: switchBody('taking', ['eth2']), apiKey })
  assert.match(messageOf(taken, 409), /eth2 is in use by virtual switch that you may not see/)
})

test('the refusal of a gateway for one end of a tunnel does not name a gateway of others at the other end', async () => {
  const robot = await aRobot(app)
  const branch = seedId('gateway/branch')
  await grant(app, { id: await aRole(app, ['View_Gateway', 'Update_Gateway']) }, robot.extId, {
    gateway: { uuid: { anyof: [branch] } },
  })
  const path = `${config}/gateways/${branch}`
  const { data, etag } = await app.call('GET', path, { apiKey: robot.apiKey })
  data.services.remoteVpnService.serviceAddress = { ipv6: { value: '2001:db8::20', prefixLength: 128 } }
  const refused = await app.call('PUT', path, { body: data, ifMatch: etag!, apiKey: robot.apiKey })
  const message = messageOf(refused, 400)
  assert.match(message, /IPv4 for gateway that you may not see and IPv6 for branch/)
})
