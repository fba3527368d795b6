/**
 * The usual life of a Terraform configuration, against the demo world: `node --test clients/terraform/terraform.test.ts`.
 * Needs `terraform`; `TF_PROVIDER_DIR` may name the folder of the provider's binary.
 */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { inventoryOf, type Service, startService } from './service.ts'
import { openTerraform, type Terraform } from './terraform.ts'

const changed = ['-var', 'description=changed by Terraform', '-var', 'memory_gib=4']
const apply = ['apply', '-auto-approve', '-no-color']
const destroy = ['destroy', '-auto-approve', '-no-color']
const plan = ['plan', '-detailed-exitcode', '-no-color']
/** Applies or destroys, until one succeeds. */
const attempts = 6

async function withTerraform(work: (service: Service, terraform: Terraform) => Promise<void>): Promise<void> {
  const service = await startService()
  let terraform: Terraform | undefined
  try {
    terraform = await openTerraform(service)
    const before = await inventoryOf(service)
    assert.ok(before.length > 100, 'the inventory reads the lists of the service')
    await work(service, terraform)
    assert.deepEqual(await inventoryOf(service), before, 'a destroyed configuration leaves nothing behind')
  } finally {
    terraform?.remove()
    await service.stop()
  }
}

async function requireEmptyPlan(terraform: Terraform, ...argv: readonly string[]): Promise<void> {
  const { exitCode, output } = await terraform.run(...plan, ...argv)
  assert.equal(exitCode, 0, output)
}

/** Address and id of every managed resource in the state. */
async function resourcesOf(terraform: Terraform): Promise<readonly { address: string; type: string; id: string }[]> {
  const state = JSON.parse(await terraform.succeed('show', '-json'))
  return state.values.root_module.resources
    .filter(({ mode }: any) => mode === 'managed')
    .map(({ address, type, values }: any) => ({ address, type, id: values.id }))
}

/** The provider imports these by their id alone and reads everything that the configuration states. */
const importable = new Set([
  'nutanix_authorization_policy_v2',
  'nutanix_category_v2',
  'nutanix_images_v2',
  'nutanix_pbr_v2',
  'nutanix_roles_v2',
  'nutanix_storage_containers_v2',
  'nutanix_subnet_v2',
  'nutanix_virtual_machine_v2',
  'nutanix_volume_group_v2',
  'nutanix_vpc_v2',
])

/** Steps at which one task in ten fails, one for each task. */
const failing: Readonly<Record<string, string>> = {
  'networking.create-routing-policy': 'install rules',
  'networking.create-subnet': 'program hosts',
  'networking.create-vpc': 'create router',
  'networking.delete-routing-policy': 'remove rules',
  'networking.delete-subnet': 'stop DHCP',
  'networking.delete-vpc': 'detach external subnets',
  'vmm.create-image': 'resolve source',
  'vmm.create-vm': 'check references',
  'vmm.delete-image': 'recheck',
  'vmm.power-on-vm': 'place',
  'volumes.attach-vm': 'check',
  'volumes.create-volume-disk': 'allocate',
  'volumes.create-volume-group': 'check',
}

/** Repeats a command that a failing task may cut short. */
async function untilDone(terraform: Terraform, ...argv: readonly string[]): Promise<void> {
  const outputs: string[] = []
  while (outputs.length < attempts) {
    const { exitCode, output } = await terraform.run(...argv)
    if (exitCode === 0) return
    outputs.push(output)
  }
  assert.fail(`terraform ${argv.join(' ')} did not succeed in ${attempts} attempts:\n${outputs.join('\n')}`)
}

describe('the public Terraform provider', { concurrency: true }, () => {
  test('applies, changes, imports and destroys a configuration, with empty plans between', () =>
    withTerraform(async (_service, terraform) => {
      await terraform.succeed(...apply)
      await requireEmptyPlan(terraform)
      await terraform.succeed(...apply, ...changed)
      await requireEmptyPlan(terraform, ...changed)
      const known = (await resourcesOf(terraform)).filter(({ type }) => importable.has(type))
      assert.ok(known.length >= importable.size)
      await terraform.succeed('state', 'rm', ...known.map(({ address }) => address))
      const imports = join(terraform.folder, 'imports.tf.json')
      writeFileSync(imports, JSON.stringify({ import: known.map(({ address, id }) => ({ to: address, id })) }))
      const imported = await terraform.succeed(...apply, ...changed)
      assert.match(imported, new RegExp(`${known.length} imported, 0 added, 0 changed, 0 destroyed`))
      rmSync(imports)
      await requireEmptyPlan(terraform, ...changed)
      await terraform.succeed(...destroy, ...changed)
    }))

  test('heals a configuration by further applies while tasks fail, and destroys it', () =>
    withTerraform(async ({ call }, terraform) => {
      const faults = '/control/v1/worlds/default/faults'
      const effect = { error: 'INTERNAL_ERROR' }
      const rules = Object.entries(failing).map(([task, step]) => ({
        match: { taskStep: { task, step } },
        // The draws may spare every task, so the creation of the VPC fails at its first attempt.
        trigger: task === 'networking.create-vpc' ? { nth: 1 } : { probability: 0.1, seed: task },
        effect,
      }))
      for (const rule of rules) {
        const { status, json } = await call('POST', faults, rule)
        assert.equal(status, 201, JSON.stringify(json))
      }
      const withoutContainer = ['-var', 'with_container=false']
      await untilDone(terraform, ...apply, ...withoutContainer)
      await requireEmptyPlan(terraform, ...withoutContainer)
      const { json } = await call('GET', `${faults}?$limit=100`)
      assert.ok(json.data.some(({ timesFired }: any) => timesFired > 0))
      await untilDone(terraform, ...destroy, ...withoutContainer)
    }))
})
