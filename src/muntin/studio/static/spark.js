// The plan that Spark would run: asked for by a button, because Spark takes some seconds to start.

import { ask } from './api.js';
import { $, complain } from './dom.js';
import { asked } from './form.js';

export async function showSparkPlan(mode) {
  const button = $('spark');
  if (button.disabled) return;
  button.disabled = true;
  $('spark-said').textContent = 'Spark is planning; at the first time it has to start …';
  complain($('spark-error'), '');
  const began = performance.now();
  try {
    const found = await ask('/api/spark', asked(mode));
    $('spark-explain').textContent = found.explain;
    $('spark-plan').textContent = found.spark;
    $('schema').placeholder = found.schema;
    $('spark-answer').hidden = false;
    $('spark-said').textContent = `Planned in ${((performance.now() - began) / 1000).toFixed(1)} s`;
  } catch (error) {
    complain($('spark-error'), error.message);
    $('spark-answer').hidden = true;
    $('spark-said').textContent = '';
  } finally {
    button.disabled = false;
  }
}
