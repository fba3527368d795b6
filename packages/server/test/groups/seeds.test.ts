import { run } from './groups.ts'

run('seeds')
