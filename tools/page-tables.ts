import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { contract } from '@hyperplane/contract'

const subjects: Readonly<Record<string, string>> = {
  clustermgmt:
    'clusters, hosts, disks, storage containers, controller VMs, SNMP, rsyslog servers, passwords, certificates',
  iam: 'users, roles, authorization policies, API keys, LDAP directories, SAML providers, client certificates',
  networking: 'subnets, VPCs, floating IPs, routing policies, gateways, BGP sessions, VPN, load balancers, flows',
  platform: 'tasks, categories, batches, managers, registrations, backup and restore, products',
  storage: 'storage containers, volume groups and iSCSI clients in their older (v4.0.a3) form',
  vmm: 'virtual machines, images, templates, OVAs, statistics, VMs on external hypervisors',
  volumes: 'volume groups, disks, VM, iSCSI and NVMe-TCP attachments',
}

/** @param unbuilt keys of operations that answer 501 */
export function builtOperations(unbuilt: ReadonlySet<string>): string {
  const counts = contract.map(({ name, operations }) => ({
    name,
    known: operations.length,
    built: operations.filter(({ key }) => !unbuilt.has(key)).length,
  }))
  const row = (name: string, subject: string, built: number, known: number): string =>
    `| ${name} | ${subject} | ${built === known ? `all ${known}` : `${built} of ${known}`} |`
  const sum = (figure: 'built' | 'known'): number => counts.reduce((total, each) => total + each[figure], 0)
  return [
    '| Namespace | Subjects | Operations built |',
    '|---|---|---|',
    ...counts
      .toSorted((a, b) => a.name.localeCompare(b.name))
      .map(({ name, built, known }) => row(`\`${name}\``, subjects[name] as string, built, known)),
    row('together', '', sum('built'), sum('known')),
  ].join('\n')
}

export function decisionsIndex(): string {
  const folder = resolve(import.meta.dirname, '../docs/decisions')
  const rows = readdirSync(folder)
    .filter((file) => /^\d{4}-/.test(file))
    .map((file) => {
      const [title = ''] = readFileSync(resolve(folder, file), 'utf8').split('\n')
      return `| [${title.replace(/^# /, '')}](${file}) | ${file.slice(0, 10)} |`
    })
  return ['| Decision | Date |', '|---|---|', ...rows.sort((a, b) => a.localeCompare(b))].join('\n')
}
